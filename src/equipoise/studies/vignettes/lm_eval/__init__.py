"""The vignettes as a task of lm-evaluation-harness; docs/howto/logs.md has the command."""
