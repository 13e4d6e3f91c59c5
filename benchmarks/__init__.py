"""What measures, and proves at length; each is run as ``python benchmarks/NAME.py``."""
