"""Test drivers, also of other projects: the corpus format, comparison of results, single operations."""
