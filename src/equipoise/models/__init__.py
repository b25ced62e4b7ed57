"""What a model is on this machine: its files, what it takes to run, and its exported graph."""
