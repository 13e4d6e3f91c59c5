"""Simulated devices: a file lists the operations and capabilities, another device computes."""
