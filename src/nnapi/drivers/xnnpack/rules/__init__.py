"""XNNPACK's rules: the canonical ones, except where the engine is faster or correct otherwise."""

from __future__ import annotations

from nnapi.drivers.xnnpack.context import RULES
from nnapi.lowering.lower import import_rules

__all__ = ["RULES"]

import_rules(__name__, __path__)
