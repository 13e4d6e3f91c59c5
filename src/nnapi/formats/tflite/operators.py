"""One row per operator of TensorFlow Lite: how a file stores its options and what graphs need to know of its kind.

The rows are those of ``operators.txt``. Importers, exporters, the delegate and the drivers of LiteRT's engines read
them; nobody else lists operators.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

OPTION = -1
"""As the position of axes: the option ``axis``."""
CLAMP, CONVERT = ("Clamp",), ("Convert",)
"""Beginnings of names in XNNPACK's profiles that several operators share."""


class Row(NamedTuple):
    """One kind of operator. Everything beyond the name has a default, which also holds for custom operators."""

    name: str
    rule: str = ""
    """The module of the importer's rules that reads it; empty for an operator that is not read."""
    options: str = ""
    """The table of options in the schema, its number in the union, then its fields, in schema order, which is the order
    of the members of LiteRT's C structure too: :func:`options_table`."""
    nnapi: str = ""
    """NNAPI's name of the operation with the same meaning, where it is another one."""
    high_rank: bool = False
    """The importer reads it on more dimensions than NNAPI's operations take."""
    broadcasts: bool = False
    """Inputs of other shapes are repeated to the output's."""
    sums: bool = False
    """It sums products of its first two inputs."""
    channelwise: int = 0
    """Number of inputs, where it treats every channel of them alike."""
    rounds: bool = False
    """XNNPACK may round a quantized value that lies halfway between two the other way than NNAPI."""
    unsigned: bool = False
    """XNNPACK computes it on unsigned quantized values as on signed ones."""
    weights: tuple[int, ...] = ()
    """Inputs that may be constant signed values of 8 bits while the first input is float32."""
    axis: int | None = None
    """The input that holds the axes it works along, or OPTION."""
    states: tuple[int, ...] = ()
    """Inputs that are variables, which it changes."""
    states_out: tuple[int, ...] = ()
    """Those of the states whose new values follow the output where graphs have them as functions."""
    persistent: bool = False
    """It reads or writes something that outlives a run."""
    subgraphs: bool = False
    """It runs other subgraphs of its file."""
    events: tuple[str, ...] = ()
    """Beginnings of its names in XNNPACK's profiles; by default the first three letters of its own."""


def _row(line: str) -> Row:
    name, rule, words, options = (f"{line} | | | ").split(" |")[:4]
    return Row(name, rule.strip(), options.strip(), **dict(map(_fact, words.split())))


def _fact(word: str) -> tuple[str, Any]:
    """``fact``, ``fact=number``, ``fact=number,number`` or, of events, ``fact=A_name+Another``."""
    name, _, value = word.partition("=")
    if name == "events":
        return name, tuple(value.replace("_", " ").split("+"))
    if name == "nnapi":
        return name, value
    if name in ("weights", "states", "states_out"):
        return name, tuple(map(int, value.split(",")))
    return name, OPTION if value == "option" else int(value) if value else True


with open(f"{os.path.dirname(__file__)}/operators.txt", encoding="utf-8") as _file:
    OPERATORS = tuple(_row(line.rstrip()) for line in _file if not line.startswith("#"))
"""The rows of ``operators.txt``: an index is the operator's number."""
BY_NAME = {row.name: row for row in OPERATORS}
UNKNOWN = Row("")


def facts(kind: str) -> Row:
    """The row of an operator; one of nothing but defaults for a custom operator."""
    return BY_NAME.get(kind, UNKNOWN)


class Field(NamedTuple):
    """A field of a table of options: its number, how it is stored (the struct module's letter), whether it is a vector
    of such numbers, and its value where the file omits it."""

    number: int
    code: str
    is_vector: bool
    default: Any


class OptionsTable(NamedTuple):
    """A table of options: its name, its number in the union ``BuiltinOptions`` or ``BuiltinOptions2``, its fields."""

    name: str
    member: int
    is_second: bool
    fields: dict[str, Field]


NONE = OptionsTable("NONE", 0, False, {})
"""The union's first member: no options."""


@cache
def options_table(kind: str) -> OptionsTable:
    """The table of an operator's options; NONE for an operator without options that anybody reads or writes."""
    text = facts(kind).options
    if not text:
        return NONE
    head, _, fields = text.partition(": ")
    name, *union, member = head.split()
    named = [_field(number, field) for number, field in enumerate(fields.split(", "))]
    return OptionsTable(name, int(member), bool(union), dict(named))


def _field(number: int, text: str) -> tuple[str, Field]:
    """Parse ``name code``, ``name code default`` or, for a vector, ``name [code]``; ``_`` is a deprecated field."""
    name, code, *default = text.split()
    if code.startswith("["):
        return name, Field(number, code[1:-1], True, ())
    value: Any = False if code == "?" else 0.0 if code == "f" else 0
    return name, Field(number, code, False, type(value)(int(default[0])) if default else value)
