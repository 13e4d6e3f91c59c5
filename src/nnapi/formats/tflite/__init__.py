"""The .tflite format: schema, checked reading, writing."""

IDENTIFIER = b"TFL3"
