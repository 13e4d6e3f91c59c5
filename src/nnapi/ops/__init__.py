"""The meaning of each operation: a module for a family, a part of one or a large operation, imported at first use."""

from nnapi.operation_codes import FAMILIES, MODULES

OWN = {"recurrent", "detection", "random"}
"""Families whose operations have modules of their own names, but for those in ``MODULES``."""
HOMES = {
    name: module
    for table in ({family: names for family, names in FAMILIES.items() if family not in OWN}, MODULES)
    for module, names in table.items()
    for name in names.split()
}
"""The module of each operation that shares one."""
