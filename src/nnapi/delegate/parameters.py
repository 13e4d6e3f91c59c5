"""The parameters of operators as LiteRT passes them to delegates: C structures with the schema's fields in order.
LiteRT only appends members, so the layout is the same in every version."""

import struct
from functools import cache
from typing import Any

from nnapi.errors import need_value
from nnapi.formats.tflite.operators import options_table
from nnapi.formats.tflite.reader import Options

FROM_ONE = "padding", "mode"
"""Options that LiteRT numbers from one, with zero for an unknown value, and the schema from zero."""
UNREAD = {"ARG_MAX": ("type",), "ARG_MIN": ("type",), "CAST": ("source", "target")}
"""Element types, which LiteRT numbers differently."""
VECTOR = 8
"""Maximum elements of a vector of integers; their count follows it."""


@cache
def _structure(kind: str) -> tuple[struct.Struct, list[tuple[str, int]]] | None:
    """Return the structure of an operator's parameters, with the name and length of each member; None where its members
    are not the schema's fields."""
    table = options_table(kind)
    fields = {name: field for name, field in table.fields.items() if name != "_"}
    if not fields or table.is_second or any(field.is_vector and field.code != "i" for field in fields.values()):
        return None
    format, members = "@", []
    for name, field in fields.items():
        format += f"{VECTOR}ii" if field.is_vector else field.code.replace("b", "i")  # enumerations are int in C
        members += [(name, VECTOR), ("length", 1)] if field.is_vector else [(name, 1)]
    return struct.Struct(format), members


def can_read_parameters(kind: str) -> bool:
    """Return whether the parameters of an operator can be read."""
    return not options_table(kind).fields or _structure(kind) is not None


def _need_structure(kind: str) -> tuple[struct.Struct, list[tuple[str, int]]]:
    return need_value(_structure(kind), f"the parameters of {kind} cannot be read")


def size_of(kind: str) -> int:
    """Return the bytes that :func:`read_parameters` reads."""
    return _need_structure(kind)[0].size


def read_parameters(kind: str, content: Any) -> Options:
    """Read the parameters from the bytes of the C structure."""
    structure, members = _need_structure(kind)
    numbers = iter(structure.unpack(content))
    found: dict[str, Any] = {}
    for name, length in members:
        taken = tuple(next(numbers) for _ in range(length))
        found[name] = taken if length > 1 else taken[0] - 1 if name in FROM_ONE else taken[0]
    if "length" in found:
        length = found.pop("length")
        found = {name: values[: max(length, 0)] for name, values in found.items()}
    return Options(**{name: value for name, value in found.items() if name not in UNREAD.get(kind, ())})
