"""Simulated devices: a file (a profile) lists operations and capabilities, another device computes."""
