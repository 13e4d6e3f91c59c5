"""Tests of drivers: the corpus format, comparison, single operations; for driver authors too."""
