"""Canonical rules from NNAPI's operations to TensorFlow Lite's operators; engines add theirs to ``RULES``."""

from nnapi.lowering.tflite.context import RULES

__all__ = ["RULES"]
