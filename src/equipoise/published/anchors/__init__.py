"""Every published figure beside our recomputation of it."""
