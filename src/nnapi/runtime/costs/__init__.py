"""Predicted costs of operations on devices: the work of each, and its price."""
