"""The .tflite format: its schema, checked reading, writing."""
