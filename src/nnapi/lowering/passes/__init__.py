"""Passes over graphs of TensorFlow Lite operators, for engines and files."""
