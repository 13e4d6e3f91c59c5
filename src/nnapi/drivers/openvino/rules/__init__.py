"""Lowering rules, one for each operation or small family."""

from nnapi.lowering.lower import import_rules

import_rules(__name__, __path__)
