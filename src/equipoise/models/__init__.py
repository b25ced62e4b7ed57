"""Models on this machine: their files, their requirements, and their exported graphs."""
