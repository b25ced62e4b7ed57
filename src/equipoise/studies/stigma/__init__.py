"""Which gender a model puts beside mental illness and its stereotypes (Lin et al. 2022, EMNLP)."""
