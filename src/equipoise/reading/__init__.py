"""What a model wrote, read: its reasoning and answer, the letter or diagnosis, and whether that is the one meant."""
