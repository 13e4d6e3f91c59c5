"""The .tflite format: its schema, checked reading, writing."""

IDENTIFIER = b"TFL3"
