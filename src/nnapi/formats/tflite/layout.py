"""Layouts of the tables in a FlatBuffer."""

import struct
from collections.abc import Mapping

REFERENCE = "R"
"""The code of a field that refers to a table, a vector or a text."""


class Layout:
    """The layout of a kind of table: slots, field offsets and vtable. Fields of one byte come last."""

    def __init__(self, fields: Mapping[str, tuple[int, str]]) -> None:
        order = sorted(fields, key=lambda name: fields[name][1] in "b?")
        self.at: dict[str, int] = {}
        position, formats = 4, []
        for name in order:
            self.at[name] = position
            formats.append("I" if fields[name][1] == REFERENCE else fields[name][1])
            position += 1 if fields[name][1] in "b?" else 4
        self.names = order
        self.size = position + -position % 4
        self.format = "i" + "".join(formats) + "x" * (self.size - position)
        self.pack = struct.Struct(f"<{self.format}").pack
        slots = [0] * (1 + max((slot for slot, _ in fields.values()), default=-1))
        for name, (slot, _) in fields.items():
            slots[slot] = self.at[name]
        vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), self.size, *slots)
        self.vtable = vtable + bytes(-len(vtable) % 4)


def layout_of(table: type, **fields: str) -> Layout:
    return Layout({name: (getattr(table, name.upper()), code) for name, code in fields.items()})
