"""The track `openr1`: clients' messages of OpenR1-Psy, each told with two demographics, and the replies compared."""
