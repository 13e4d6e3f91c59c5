"""Facts of ONNX's operators by opset, from the table ``schemas.txt``, which ``python -m tools.onnx_schemas`` writes."""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

TABLE = "schemas.txt"


class Schema(NamedTuple):
    """A definition of an operator. ``keeps`` tells for each input whether its type is that of the first output."""

    since_version: int
    defaults: Mapping[str, Any]
    keeps: tuple[bool, ...]
    has_function: bool


@cache
def find_schema(kind: str, opset: int, domain: str) -> Schema | None:
    """Return the definition that an opset uses; None if ONNX does not define the operator."""
    rows = _read_table()[1].get((domain, kind), ())
    best = max((row for row in rows if int(row[0]) <= opset), key=lambda row: int(row[0]), default=None)
    if best is None:
        return None
    since, keeps, function, defaults = best
    return Schema(int(since), json.loads(defaults), tuple(each == "1" for each in keeps.strip("-")), function == "f")


def newest_opset() -> int:
    return _read_table()[0]


@cache
def _read_table() -> tuple[int, dict[tuple[str, str], list[list[str]]]]:
    with open(os.path.join(os.path.dirname(__file__), TABLE), encoding="utf-8") as file:
        newest, *lines = file.read().splitlines()
    found: dict[tuple[str, str], list[list[str]]] = {}
    for line in lines:
        domain, kind, *row = line.split(" ", 5)
        found.setdefault((domain.strip("-"), kind), []).append(row)
    return int(newest), found
