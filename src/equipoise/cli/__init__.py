"""The command line: its groups, and the commands that belong to no study."""
