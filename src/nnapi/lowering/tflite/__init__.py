"""Canonical rules from NNAPI's operations to TensorFlow Lite's operators; engines change a copy of ``RULES``."""

from nnapi.lowering.lower import import_rules
from nnapi.lowering.tflite.context import RULES

__all__ = ["RULES"]

import_rules(__name__, __path__)
