"""One row per operator of TensorFlow Lite, read from ``operators.txt``: its options and its properties."""

import os
from functools import cache
from typing import Any, NamedTuple

OPTION = -1
"""The value of ``axis`` for operators whose axis is the option ``axis``, not an input."""
CLAMP, CONVERT = ("Clamp",), ("Convert",)
"""Prefixes of names in XNNPACK's profiles that several operators share."""


class Row(NamedTuple):
    """One kind of operator. The defaults also describe custom operators."""

    name: str
    rule: str = ""
    """The module of the importer's rule; "" if there is none."""
    options: str = ""
    """The schema's table of options, its number in the union, and its fields in schema order, which LiteRT's C
    structure has too; :func:`options_table` parses this."""
    nnapi: str = ""
    """The name of NNAPI's operation, if it is different."""
    high_rank: bool = False
    broadcasts: bool = False
    sums: bool = False
    channelwise: int = 0
    """The number of inputs whose channels the operator treats alike."""
    rounds: bool = False
    """XNNPACK may round halves of quantized values the other way than NNAPI."""
    unsigned: bool = False
    """XNNPACK computes the operator on unsigned quantized values, too."""
    weights: tuple[int, ...] = ()
    """Inputs that may be constant signed 8-bit values while the first input is float32."""
    axis: int | None = None
    """The input that holds the axes, or OPTION."""
    states: tuple[int, ...] = ()
    states_out: tuple[int, ...] = ()
    """The states whose new values follow the output in graphs without variables."""
    persistent: bool = False
    """The operator accesses state that outlives a run."""
    subgraphs: bool = False
    events: tuple[str, ...] = ()
    """Prefixes of the operator's names in XNNPACK's profiles; by default its first three letters."""


def _row(line: str) -> Row:
    name, rule, words, options = (f"{line} | | | ").split(" |")[:4]
    return Row(name, rule.strip(), options.strip(), **dict(map(_fact, words.split())))


def _fact(word: str) -> tuple[str, Any]:
    """Parse ``fact``, ``fact=number``, ``fact=number,number`` or, for events, ``fact=A_name+Another``."""
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
"""The rows of ``operators.txt``; the index is the operator's number."""
BY_NAME = {row.name: row for row in OPERATORS}
UNKNOWN = Row("")


def row_of(kind: str) -> Row:
    return BY_NAME.get(kind, UNKNOWN)


class Field(NamedTuple):
    """A field of an options table: number, storage (the struct module's letter; "s" is text), whether it is a vector,
    default."""

    number: int
    code: str
    is_vector: bool
    default: Any


class OptionsTable(NamedTuple):
    """An options table: name, number in the union ``BuiltinOptions`` or ``BuiltinOptions2``, fields."""

    name: str
    member: int
    is_second: bool
    fields: dict[str, Field]


NONE = OptionsTable("NONE", 0, False, {})


@cache
def options_table(kind: str) -> OptionsTable:
    text = row_of(kind).options
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
    value: Any = {"?": False, "f": 0.0, "s": ""}.get(code, 0)
    return name, Field(number, code, False, type(value)(int(default[0])) if default else value)
