"""The declared types, levels, ranks and defaults of every operand against rows of facts, which lie in levels.txt.

A row has the operand's name, the level that introduced it, its ranks if they are limited, ``?`` if it may be omitted or
its default after ``=``, and its types, each with its level. A line that is not indented names the operation, the
overload and the legal numbers of outputs with their levels.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import REQUIRED, Parameter, Several, Slot, TensorParameter, ValuesParameter
from nnapi.operation_codes import COMPOSITE_CODES
from tests.rows import each_row

FILE = Path(__file__).with_name("levels.txt")
SHARED_DECLARATION = {("RESIZE_BILINEAR", "by_scale", "input", OperandCode.TENSOR_FLOAT32): 1}
"""A type that another overload of the same declaration has from a lower level on."""
ANY = "any"


class Row(NamedTuple):
    """An operand of a signature."""

    name: str
    since: int
    ranks: str
    absence: str
    types: dict[int, int]


class Rows(NamedTuple):
    """A signature: its inputs, outputs, and the legal numbers of outputs."""

    operation: str
    overload: str
    lengths: dict[int, int]
    inputs: list[Row]
    outputs: list[Row]


def read() -> list[Rows]:
    found: list[Rows] = []
    for line in FILE.read_text().splitlines():
        words = line.split()
        if not line.startswith(" "):
            lengths = {int(count): int(level) for count, level in (word.split(":") for word in words[2:])}
            found.append(Rows(words[0], words[1], lengths, [], []))
            continue
        into = found[-1].outputs if words[0] == "->" else found[-1].inputs
        name, since, ranks, absence, *types = words[words[0] == "->" :]
        pairs = [word.split(":") for word in types if word != ANY]
        into.append(Row(name, int(since), ranks, absence, {OperandCode[code]: int(level) for code, level in pairs}))
    return found


ROWS = read()


def parameters(slots: tuple[Slot, ...]) -> list[Parameter]:
    return [slot.parameter if isinstance(slot, Several) else slot for slot in slots]


def declared_types(slot: Parameter, known: dict[str, dict[int, int]]) -> tuple[dict[int, int], int]:
    """The types of a parameter with their levels, those of its leader included; and its lowest own level."""
    if slot.like is None:
        return dict(slot.types), min(slot.types.values(), default=slot.since)
    found: dict[int, int] = {}
    own = []
    for leader, level in known[slot.like].items():
        for code, follows in slot.accepts({slot.like: leader}).items():
            found[code] = min(found.get(code, 99), max(level, follows))
            own.append(follows)
    return found, min(own)


def declared_ranks(slot: Parameter) -> str:
    legal = [rank for rank in range(1, 10) if isinstance(slot, TensorParameter) and slot.rank_level(rank) is not None]
    if not legal or len(legal) == 9:
        return "-"
    return str(legal[0]) if len(legal) == 1 else f"{legal[0]}..{legal[-1]}"


def declared_absence(slot: Parameter) -> str:
    default = "" if slot.default is REQUIRED else f"={slot.default}"
    return "?" * slot.optional + default or "-"


def differences(rows: Rows, slots: list[Parameter], wanted: list[Row], known: dict[str, dict[int, int]]) -> list[str]:
    found = []
    lowest = min(row.since for row in rows.inputs)
    for slot, row in zip(slots, wanted, strict=True):
        if slot.name != row.name:
            found.append(f"{slot.name} should be {row.name}")
        types, own = declared_types(slot, known)
        known[slot.name] = types
        expected = {
            code: SHARED_DECLARATION.get((rows.operation, rows.overload, row.name, OperandCode(code)), level)
            for code, level in row.types.items()
        }
        if types != expected:
            found.append(f"{slot.name} has {types}, should have {expected}")
        follows = slot.like is not None and own == 1 and row.since == lowest  # its leader has the level
        if not follows and own != min(row.since, *expected.values(), 99):
            found.append(f"{slot.name} is declared from {own} on, should be from {row.since} on")
        if row.ranks != "*" and declared_ranks(slot) != row.ranks:
            found.append(f"{slot.name} has ranks {declared_ranks(slot)}, should have {row.ranks}")
        if declared_absence(slot) != row.absence:
            found.append(f"{slot.name} is declared with {declared_absence(slot)}, should be with {row.absence}")
    return found


def overload_inputs(operation: Operation, name: str) -> list[Parameter]:
    (overload,) = [each for each in operation.overloads if len(operation.overloads) == 1 or each.name == name]
    return parameters(overload.inputs)


@each_row("rows", ROWS, ids=lambda rows: f"{rows.operation}-{rows.overload}")
def test_operands_have_the_types_levels_and_ranks_of_the_facts(rows: Rows) -> None:
    operation, known = REGISTRY[OperationCode[rows.operation]], dict[str, dict[int, int]]()
    found = differences(rows, overload_inputs(operation, rows.overload), rows.inputs, known)
    found += differences(rows, parameters(operation.outputs), rows.outputs, known)
    assert found == []
    assert dict(operation.output_lengths) == rows.lengths


def test_every_overload_has_a_row() -> None:
    assert {row.operation for row in ROWS} == {code.name for code in OperationCode}
    counts = {
        operation.name: len(operation.overloads) for code, operation in REGISTRY.items() if code not in COMPOSITE_CODES
    }
    assert {name: sum(row.operation == name for row in ROWS) for name in counts} == counts


CHECKED_WHEN_ADDED = {
    "ADD",
    "CHANNEL_SHUFFLE",
    "CONCATENATION",
    "CONV_2D",
    "DEQUANTIZE",
    "DIV",
    "FLOOR",
    "IF",
    "L2_NORMALIZATION",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOGISTIC",
    "MEAN",
    "MUL",
    "PAD",
    "PAD_V2",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "REDUCE_SUM",
    "RELU",
    "RELU1",
    "RELU6",
    "RESHAPE",
    "REVERSE",
    "SOFTMAX",
    "SQUEEZE",
    "STRIDED_SLICE",
    "SUB",
    "TANH",
    "TRANSPOSE",
}
"""Operations whose ranks are checked when they are added; others are checked when they are computed."""


@each_row("code", OperationCode, ids=lambda code: code.name)
def test_the_ranks_of_all_operands_are_checked_at_one_time(code: OperationCode) -> None:
    """But for the bias of CONV_2D, and values that are not known before."""
    for overload in REGISTRY[code].overloads:
        for slot in parameters(overload.inputs):
            if isinstance(slot, TensorParameter) and not isinstance(slot, ValuesParameter) and slot.rank is not None:
                is_late = code.name not in CHECKED_WHEN_ADDED or (code.name, slot.name) == ("CONV_2D", "bias")
                assert slot.late_rank is is_late, slot.name


# The rows against the table of facts


def describe_ranks(parameter: Any) -> str:
    if parameter["kind"] == "tensor" and re.fullmatch(r"\d+(\.\.\d+)?", parameter["rank"]):
        return str(parameter["rank"])
    return "-"


def describe_absence(parameter: Any) -> str:
    may_lack = parameter["optional"] and (parameter["kind"] == "tensor" or parameter["optional_kind"] == "no_value")
    words = {"false": "False", "no layer norm": "None"}
    default = f"={words.get(parameter['default'], parameter['default'])}" if "default" in parameter else ""
    return "?" * may_lack + default or "-"


def write_row(parameter: Any, since: int, ranks: str, absence: str, mark: str = "") -> str:
    is_any = len(parameter["types"]) > 12
    types = " ".join(f"{code}:{level}" for code, level in parameter["types"].items())
    return f"  {mark}{parameter['name']} {since} {ranks} {absence} {ANY if is_any else types}"


def write_facts(facts: Any) -> str:
    """The rows of the table of facts."""
    lines = []
    for fact in facts:
        for signature in fact["signatures"]:
            lowest = min(combination["feature_level"] for combination in signature["type_combinations"])
            lengths = [f"{count}:{level}" for count, level in signature.get("output_arity", {}).items()]
            lines.append(" ".join([fact["name"], signature["id"], *lengths]))
            for parameter in signature["inputs"]:
                arity = {} if signature["arity"] == "variable" else signature["arity"]
                longer = [level for count, level in arity.items() if int(count) > parameter["index"]]
                since = max(lowest, min(longer, default=lowest))
                lines.append(write_row(parameter, since, describe_ranks(parameter), describe_absence(parameter)))
            lines += [write_row(output, lowest, "*", "-", "-> ") for output in fact["outputs"]]
    return "\n".join(lines) + "\n"


@pytest.mark.shared
def test_the_rows_are_those_of_the_table_of_facts(shared: Any) -> None:
    facts = json.loads((shared / "reference" / "operations.json").read_text())
    assert FILE.read_text() == write_facts(facts)


@pytest.mark.shared
def test_the_table_of_facts_names_the_operations_whose_ranks_are_checked_when_they_are_added(shared: Any) -> None:
    facts = json.loads((shared / "reference" / "operations.json").read_text())
    limit = re.compile(r"rank.* rejected when|ranks, .*checked when added")
    found = {fact["name"] for fact in facts if any(limit.search(rule) for rule in fact["output_rules"])}
    # The condition of IF is a single value, REVERSE compares two ranks, and FULLY_CONNECTED compares shapes.
    assert found - {"FULLY_CONNECTED"} | {"IF", "REVERSE"} == CHECKED_WHEN_ADDED
