"""Backends, which answer prompts with a model."""
