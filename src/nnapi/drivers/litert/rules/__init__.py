"""The rules for LiteRT: the canonical ones, except where its kernels or XNNPACK's are faster or correct otherwise."""

from nnapi.drivers.litert.context import RULES
from nnapi.lowering.lower import import_rules

__all__ = ["RULES"]

import_rules(__name__, __path__)
