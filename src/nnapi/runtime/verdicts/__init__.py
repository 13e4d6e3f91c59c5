"""Verdicts of devices on operations, and the operations that a device is not asked for."""
