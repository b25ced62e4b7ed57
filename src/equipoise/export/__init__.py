"""A run in the forms of others: tests, result stores, cards, checklists, hazard logs, data sets, papers."""
