"""Adversarial variants of a neutral question: Generation, Fusion and Evaluation agents, and the rounds they work in."""
