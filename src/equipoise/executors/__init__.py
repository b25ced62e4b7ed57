"""Executors: where the prompts are worked on, if not in the process of the stage."""
