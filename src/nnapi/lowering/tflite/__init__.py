"""Canonical rules from NNAPI's operations to TensorFlow Lite's operators; engines add their own to these."""
