"""What proves a driver: the corpus format, comparison, single operations; usable by driver authors."""
