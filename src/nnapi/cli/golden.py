"""``nnapi golden``: write each tensor of a run, and the integers that compute it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from nnapi.cli.command import refuse_options
from nnapi.cli.inputs import read_one_run
from nnapi.cli.options import AsWeights, InputShapes, Int16AsFloat, Json, ModelFile, Seed, load
from nnapi.cli.printing import console, indent, print_json, table, write_json
from nnapi.cli.progress import progress
from nnapi.printable import pluralize
from nnapi.testing.golden.files import as_data, name_tensor, write_files
from nnapi.testing.golden.recording import Golden, Operation, record


def golden(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write.")],
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT", help="A file for each input of the model; random values by default.", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    shapes: InputShapes = None,
    as_json: Json = False,
) -> None:
    """Write each tensor of a run, and the integers that compute it, for makers of kernels and hardware.

    The model runs on nnapi-reference. The folder gets golden.json (the operations with their multipliers, shifts, zero
    points, clamps and accumulator ranges), tensors.npz, tables and tensors as .csv, and C headers. The table compares
    the integer kernels of TFLite Micro on equal inputs.
    """
    refuse_options(["seed"] if inputs else [], "the inputs are files")
    loaded = load(model, int16_as_float, shapes, weights)
    arrays = read_one_run(loaded, inputs or [], seed)
    out = console()
    with progress(out, len(loaded.operations)) as step:
        found = record(loaded, arrays, lambda call: step(str(call)))
    files = [*write_files(found, output), output / "golden.json"]
    data = as_data(found)
    write_json(files[-1], "golden", data)
    if as_json:
        print_json("golden", data)
        return
    out.print(Text(f"{found.model}: {_summarize(found)}", style="bold"))
    out.print(indent(_list_operations(found.operations)))
    size = sum(file.stat().st_size for file in files)
    tensors = pluralize(len(found.tensors), "tensor")
    out.print(Text(f"{output}: {tensors} in {pluralize(len(files), 'file')}, {size / 1e6:.1f} MB", style="bold"))


def _summarize(found: Golden) -> str:
    rules = [operation.arithmetic.rule for operation in found.operations]
    floats = sum(rule in ("float", "quantize", "dequantize") for rule in rules)
    words = f"{pluralize(len(rules), 'operation')}, {len(rules) - floats} of them in integers"
    micro = [operation.arithmetic.micro for operation in found.operations]
    differing = sum(bool(each) for each in micro)
    return f"{words}; TFLite Micro: {micro.count(0)} equal, {differing} not, {micro.count(None)} not compared"


def _list_operations(operations: Iterable[Operation]) -> Any:
    right = ["#", "channels", "sums from", "to", "bits"]
    rows = table("#", "operation", "rule", "result", *right[1:], "TFLite Micro", right=right)
    for each in operations:
        found = each.arithmetic
        integers, micro = found.integers, found.micro
        sums = [_find(integers, "accumulator_low", min), _find(integers, "accumulator_high", max)]
        channels = str(len(integers["multiplier"])) if "multiplier" in integers else ""
        differing = "" if micro is None else f"{pluralize(micro, 'element')} differ{'s' * (micro == 1)}"
        results = " ".join(map(name_tensor, each.outputs))
        bits = str(integers.get("accumulator_bits", ""))
        rows.add_row(
            str(each.number), each.name, found.rule, results, channels, *sums, bits,
            Text("equal" if micro == 0 else ": ".join(filter(None, (differing, found.reason)))),
        )  # fmt: skip
    return rows


def _find(integers: dict[str, Any], name: str, choose: Any) -> str:
    return str(choose(integers[name])) if name in integers else ""
