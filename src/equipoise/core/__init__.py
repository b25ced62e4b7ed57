"""What every other package builds on: row types and their files, settings, caches, progress, errors."""
