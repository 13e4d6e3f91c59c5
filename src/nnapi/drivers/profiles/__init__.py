"""Simulated devices: a profile lists operations and capabilities, another device computes."""
