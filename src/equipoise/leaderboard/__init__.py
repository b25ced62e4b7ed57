"""Models side by side: one row for each, from the experiments that measured them."""
