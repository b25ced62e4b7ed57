"""Equipoise measures demographic bias in clinical language models, with paired statistics, as a DVC pipeline."""
