"""Adversarial variants of neutral questions: Generation, Fusion and Evaluation agents, and their rounds."""
