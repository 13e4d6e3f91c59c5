"""Verdicts of devices on operations, and operations that are excluded because they end a driver's process."""
