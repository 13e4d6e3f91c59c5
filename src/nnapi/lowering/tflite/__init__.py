"""Canonical rules from NNAPI operations to TensorFlow Lite operators; drivers override some of them."""
