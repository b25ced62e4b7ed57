"""The base of every other package: row types and their files, settings, caches, progress bars and errors."""
