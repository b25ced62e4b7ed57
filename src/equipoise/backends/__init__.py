"""Backends: what answers prompts with a model."""
