"""Parameters of operators (``builtin_data``): C structs with the fields of the schema's options table, mostly in its
order. LiteRT only appends fields, so this layout fits every version."""

import struct
from functools import cache
from typing import Any

from nnapi.errors import need_value
from nnapi.formats.tflite.flatbuffer import TEXT
from nnapi.formats.tflite.operators import options_table
from nnapi.formats.tflite.reader import Options

FROM_ONE = "padding", "mode"
"""Enumerations that start at 1 in LiteRT's structs, where 0 is an unknown value, and at 0 in the schema."""
UNREAD = {"ARG_MAX": ("type",), "ARG_MIN": ("type",), "CAST": ("source", "target")}
"""Element types by operator, not read because LiteRT's numbers differ from the schema's."""
OF_VOLUMES = (*("padding", "stride_w", "stride_h", "stride_d", "dilation_w", "dilation_h", "dilation_d"), "activation")
ORDERS = {"CONV_3D": OF_VOLUMES, "CONV_3D_TRANSPOSE": OF_VOLUMES}
"""The fields of structs that have another order than the schema's table."""
VECTOR = 8
"""Maximum length of an integer vector in a struct; the vector's length follows it."""


@cache
def _structure(kind: str) -> tuple[struct.Struct, list[tuple[str, int]]] | None:
    """Return the C struct of an operator's parameters, with the name and number of elements of each field. None if the
    fields are not those of the schema."""
    table = options_table(kind)
    fields = {name: field for name, field in table.fields.items() if name != "_"}
    is_other = any(field.code == TEXT or (field.is_vector and field.code != "i") for field in fields.values())
    if not fields or table.is_second or is_other:
        return None
    format, members = "@", []
    for name in ORDERS.get(kind, fields):
        field = fields[name]
        format += f"{VECTOR}ii" if field.is_vector else field.code.replace("b", "i")  # enumerations are int in C
        members += [(name, VECTOR), ("length", 1)] if field.is_vector else [(name, 1)]
    return struct.Struct(format), members


def can_read_parameters(kind: str) -> bool:
    """Return whether the parameters of an operator can be read from its C struct."""
    return not options_table(kind).fields or _structure(kind) is not None


def _need_structure(kind: str) -> tuple[struct.Struct, list[tuple[str, int]]]:
    return need_value(_structure(kind), f"the parameters of {kind} cannot be read")


def size_of(kind: str) -> int:
    """Return the size in bytes of an operator's C struct, up to the last field that is read."""
    return _need_structure(kind)[0].size


def read_parameters(kind: str, content: Any) -> Options:
    """Return the options in the bytes of an operator's C struct."""
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
