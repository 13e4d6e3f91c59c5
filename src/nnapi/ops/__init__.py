"""The semantics of operations: one module per operation or small family, imported at first use."""

from nnapi.operation_codes import MODULES

HOMES = {name: module for module, names in MODULES.items() for name in names}
