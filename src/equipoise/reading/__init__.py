"""What a model wrote, read: its reasoning and its answer, the letter or the diagnosis, and whether that is the one meant."""
