"""The decompositions of operations, one module per family."""

from nnapi.lowering.lower import import_rules

import_rules(__name__, __path__)
