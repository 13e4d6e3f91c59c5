"""All patterns."""

from nnapi.importers.recognition import activation, attention, normalization, unary
from nnapi.importers.recognition.rewriter import REWRITES

__all__ = ["REWRITES", "activation", "attention", "normalization", "unary"]
