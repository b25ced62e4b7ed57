"""Adversarial question answering: rows shared by its rooms."""
