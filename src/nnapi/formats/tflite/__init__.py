"""The .tflite format: its schema, checked reading, writing."""

IDENTIFIER = b"TFL3"
"""Bytes 4 to 8 of every .tflite file."""
