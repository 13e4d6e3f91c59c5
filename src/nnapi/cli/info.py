"""``nnapi info``: show inputs, outputs, operations and the feature level of a model."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

import nnapi
from nnapi.cli.command import refuse_options
from nnapi.cli.options import AsWeights, InputShapes, Int16AsFloat, Json, ModelFile, load
from nnapi.cli.printing import console, indent, print_json, table
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime, Operand
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import Several
from nnapi.printable import format_bytes, pluralize
from nnapi.testing.build import build
from nnapi.testing.corpus import Corpus
from nnapi.testing.example import Example

EXAMPLES = ".npz"
ANDROID = {1: "Android 8.1", 2: "Android 9", 3: "Android 10", 4: "Android 11", 5: "Android 12"}
"""The Android release of each feature level; later levels were published between releases."""


@dataclass(frozen=True)
class Reason:
    """A reason for a feature level: a facet, and the operations that have it (none if it is an operand's)."""

    operation: str
    numbers: tuple[int, ...]
    facet: str


def info(
    model: ModelFile,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    shapes: InputShapes = None,
    as_json: Json = False,
) -> None:
    """Show a model's inputs, outputs and operations, its feature level and the reasons for this level.

    MODEL may be a file of examples (.npz) that NNAPI_RECORD wrote; each model in it is then shown.
    """
    file_size = model.stat().st_size
    out = console()
    if model.suffix == EXAMPLES:
        refuse_options(["int16_as_float", "weights", "shapes"], f"{model.name} is a recording")
        described = [_show_examples(out, examples, as_json) for examples in examples_by_model(model)]
    else:
        loaded = load(model, int16_as_float, shapes, weights)
        described = [_describe(model, loaded, file_size)] if as_json else []
        if not as_json:
            _show(out, model.name, loaded, f"{format_bytes(file_size)}, ", loaded.notes)
    if as_json:
        print_json("info", described[0] if len(described) == 1 else {"models": described})


def examples_by_model(path: Path) -> list[list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in Corpus(path).examples():
        groups[example.name.partition("_run_")[0]].append(example)
    return list(groups.values())


def _show_examples(out: Console, examples: Sequence[Example], as_json: bool) -> dict[str, Any]:
    name = examples[0].name.partition("_run_")[0]
    runs = sum(example.harness.generated for example in examples)
    notes = list(dict.fromkeys(example.spec for example in examples if example.spec))
    try:
        model = build(examples[0])
    except NnapiError as error:
        if not as_json:
            out.print(Text.assemble((name, "bold"), f"  refused: {error}\n"))
        return {"model": name, "refused": str(error)}
    if not as_json:
        _show(out, name, model, f"{pluralize(runs, 'run')}, ", notes)
    return _describe(Path(name), model, 0) | {"runs": runs, "notes": notes}


def _show(out: Console, name: str, loaded: nnapi.Model, about: str, notes: Sequence[str] = ()) -> None:
    weights = format_bytes(_constant_bytes(loaded))
    out.print(
        f"[bold]{escape(name)}[/]  {about}{pluralize(len(loaded.operations), 'operation')}, "
        f"{pluralize(len(loaded.operands), 'operand')}, {weights} of constants"
    )
    for note in notes:
        out.print(Text(note, "dim"))
    out.print()
    for title, indices in (("input", loaded.inputs), ("output", loaded.outputs)):
        _print_operands(out, title, [loaded.operands[index] for index in indices])
    _print_operations(out, loaded)
    _print_level(out, loaded)


def _print_operands(out: Console, title: str, operands: Sequence[Operand]) -> None:
    rows = table(title, "type", "dimensions", "quantization")
    for number, operand in enumerate(operands):
        type = operand.type
        dimensions = "×".join(str(dimension or "?") for dimension in type.dimensions) or "any"
        quantization = f"scale {type.scale:.6g}, zero point {type.zero_point}" if type.scale else ""
        cells = operand.name or str(number), type.name, "scalar" if type.is_scalar else dimensions, quantization
        rows.add_row(*map(Text, cells))
    out.print(rows)
    out.print()


def _print_operations(out: Console, model: nnapi.Model) -> None:
    rows = ((name, str(count)) for name, count in _counts(model).items())
    out.print(table("operation", "count", rows=rows, right=["count"]))
    out.print()


def _counts(model: nnapi.Model) -> dict[str, int]:
    return dict(Counter(call.name for call in model.operations).most_common())


def _print_level(out: Console, model: nnapi.Model) -> None:
    level = model.feature_level
    came = f" ({ANDROID[level]})" if level in ANDROID else ""
    out.print(f"[bold]feature level {level}[/]{came}" + (", which every device has" if level == 1 else ", because of"))
    if level == 1:
        return
    rows = table("", "", "", has_header=False)
    groups: dict[str, list[Reason]] = defaultdict(list)
    for reason in find_reasons(model, level):
        groups[reason.operation].append(reason)
    for name, reasons in groups.items():
        numbers = sorted({number for reason in reasons for number in reason.numbers})
        where = "" if not numbers else f"#{numbers[0]}" + (f" and {len(numbers) - 1} more" if numbers[1:] else "")
        rows.add_row(name, f"[dim]{where}[/]", Text(", ".join(reason.facet for reason in reasons)))
    out.print(indent(rows))
    out.print(f"\nWithout {'this' if rows.row_count == 1 else 'these'} level {next_lower_level(model)} would do.")


def find_reasons(model: nnapi.Model, level: int) -> list[Reason]:
    """Return the facets of operations that need the level; if there are none, the facets of operands."""
    numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for call in model.operations:
        is_new = call.code in REGISTRY and first_level(REGISTRY[call.code]) == level
        for facet in call.match.facets if call.match else ():
            if facet.level == level:
                numbers[call.name, "the operation was added in this level" if is_new else facet.reason].add(call.number)
    if numbers:
        return [Reason(name, tuple(sorted(where)), facet) for (name, facet), where in numbers.items()]
    return [Reason("", (), facet.reason) for facet in model.facets if facet.level == level]


def first_level(operation: Operation) -> int:
    """Return the level that introduced an operation: the lowest of its first input's types."""
    slots = [overload.inputs[0] for overload in operation.overloads]
    parameters = [slot.parameter if isinstance(slot, Several) else slot for slot in slots]
    return min(min(parameter.types.values(), default=1) for parameter in parameters)


def next_lower_level(model: nnapi.Model) -> int:
    levels = {facet.level for facet in model.facets}
    return max(levels - {model.feature_level}, default=1)


def _constant_bytes(model: nnapi.Model) -> int:
    return sum(operand.type.nbytes for operand in model.operands if operand.lifetime == Lifetime.CONSTANT)


def _describe(file: Path, model: nnapi.Model, file_size: int) -> dict[str, Any]:
    level = model.feature_level
    return {
        "model": str(file),
        "bytes": file_size,
        "constant_bytes": _constant_bytes(model),
        "inputs": [_operand(model.operands[index]) for index in model.inputs],
        "outputs": [_operand(model.operands[index]) for index in model.outputs],
        "operations": _counts(model),
        "operands": len(model.operands),
        "notes": list(model.notes),
        "feature_level": level,
        "forced_by": [
            {"operation": reason.operation or None, "numbers": list(reason.numbers), "facet": reason.facet}
            for reason in (find_reasons(model, level) if level > 1 else ())
        ],
        "level_without": next_lower_level(model),
    }


def _operand(operand: Operand) -> dict[str, Any]:
    return {
        "name": operand.name,
        "type": operand.type.name,
        "dimensions": list(operand.type.dimensions),
        "scale": operand.type.scale,
        "zero_point": operand.type.zero_point,
    }
