"""``nnapi compare``: find the first operation whose result differs between two devices."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import nnapi
from nnapi.cli.command import refuse_options
from nnapi.cli.failure import ExitCode, fail
from nnapi.cli.file_driver import SUFFIXES, measure_file, open_engine
from nnapi.cli.info import EXAMPLES
from nnapi.cli.inputs import assign_to_runs, read_arrays, read_one_run
from nnapi.cli.options import (
    AsWeights,
    InputShapes,
    Int16AsFloat,
    Json,
    ModelFile,
    Names,
    Page,
    Seed,
    device_option,
    load,
    need_page,
)
from nnapi.cli.printing import console, indent, print_json, table
from nnapi.cli.progress import progress
from nnapi.cli.quantization_losses import measure_with_progress, show_losses, write_losses
from nnapi.errors import Mistake, NnapiError, UnusableFile
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, combine
from nnapi.printable import pluralize
from nnapi.quantizers import QUANTIZERS
from nnapi.report.engines import OTHERS, UnsuitableError
from nnapi.report.graph import graph_data
from nnapi.report.html import comparison_page
from nnapi.runtime.choice.judge import Distance
from nnapi.runtime.device import REFERENCE
from nnapi.store.files import write_text
from nnapi.testing.compare import judge
from nnapi.testing.corpus import Corpus
from nnapi.testing.divergence import Closeness, Divergence, Step, find_divergence, measure_outputs
from nnapi.testing.example import Example, OperandSpec
from nnapi.testing.quantization_loss import ModelLoss


@dataclass(frozen=True)
class RecordedRun:
    """One run of a recording: the distance of this model's outputs, and the first value out of tolerance, or ""."""

    name: str
    distance: Distance
    reason: str


def compare(
    model: ModelFile,
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT", help="A file for each input of the model; random values by default.", show_default=False
        ),
    ] = None,
    device: Annotated[
        Names,
        device_option(
            "Test this device against the reference; by default, xnnpack-cpu. Of two, test the second against the "
            "first. Each operation on the second gets the first one's results as inputs."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE|RECORDING|QUANTIZED",
            help="Test litert or onnxruntime instead of a device; the engine gets the operations and the model as "
            "files. Or compare the device's outputs with a recording (.npz) of NNAPI_RECORD. Or measure what each "
            "operation of a quantized model (.tflite, .onnx) loses; MODEL is its float model.",
        ),
    ] = None,
    seed: Seed = 0,
    every: Annotated[
        bool, typer.Option("--all", help="Show all operations, not only those whose results differ.")
    ] = False,
    int16_as_float: Int16AsFloat = False,
    weights: AsWeights = None,
    shapes: InputShapes = None,
    as_json: Json = False,
    html: Page = None,
) -> None:
    """Find the first operation whose result differs between two devices on equal inputs.

    Each operation runs as a model of its own on both devices; rounding does not count as a difference, but NaN and
    infinities must be the same. Then the whole model runs, and the table shows how differences have grown. Another
    engine may replace the second device (--against). Exit code 1 if a result differs, else 3 if an operation did not
    run or was not judged.
    """
    need_page(html)
    refuse_options(["seed"] if inputs else [], "the inputs are files")
    refuse_options(["every"] if as_json else [], "--json has all operations")
    if against and against.endswith(EXAMPLES):
        if inputs:
            raise Mistake("a recording contains its inputs: omit input files")
        refuse_options(["html", "seed", "every"], f"{against} is a recording")
        raise typer.Exit(
            _print_recording(load(model, int16_as_float, shapes, weights), Path(against), device or [], as_json)
        )
    if against and against.endswith(tuple(QUANTIZERS)):
        exact, quantized = (load(file, int16_as_float, shapes, weights) for file in (model, Path(against)))
        samples = [read_arrays(exact, paths, seed) for paths in assign_to_runs(exact, inputs or [])]
        lost = measure_with_progress(console(), exact, quantized, samples, _find_one(device or []))
        _print_losses(model, Path(against), quantized, lost, every, html, as_json)
        return
    base, tried = _find_devices(device or [], against)
    out = console()
    loaded = load(model, int16_as_float, shapes, weights)
    given = read_one_run(loaded, inputs or [], seed)
    with progress(out, len(loaded.operations)) as step:
        try:
            found = find_divergence(loaded, given, tried, base, lambda call: step(f"{call} on both devices"))
            whole, unread = None, ""
            if against and model.suffix == SUFFIXES[against]:
                try:
                    whole = measure_file(OTHERS[against], model, loaded, given, base)
                except (UnsuitableError, ValueError) as error:
                    unread = str(error)
        except NnapiError as error:
            raise typer.Exit(fail(f"{base.name} cannot run {model.name}: {error}", ExitCode.REFUSED)) from None
    steps, first = found.steps, found.first
    data = [asdict(one) for one in steps]
    title = f"{model.name}: {tried.name} compared with {base.name}"
    if html:
        page = comparison_page(graph_data(nnapi.compile(loaded, REFERENCE).plan), data, title)
        write_text(html, page)
    if as_json:
        print_json(
            "compare",
            {
                "model": str(model),
                "devices": [base.name, tried.name],
                "first": first and first.number,
                "failure": found.failure or unread or None,
                "file": whole and asdict(whole),
                "operations": data,
            },
        )
    else:
        out.print(Text(f"{title}: {_summarize(found)}", style="bold"))
        shown = [one for one in steps if every or one.verdict is not Closeness.SAME]
        if shown:
            out.print(indent(_table(shown)))
        if whole:
            off, decibels = _format_distance(whole)
            out.print(Text(f"The whole file in {tried.name}: off by {off}{decibels and f', {decibels} dB'}"))
        if found.failure:
            out.print(Text(f"{tried.name} cannot run the whole model: {found.failure}"))
        if unread:
            out.print(Text(f"{tried.name} cannot run the whole file: {unread}"))
    complete = found.is_complete and not unread
    raise typer.Exit(ExitCode.DIFFERENT if first else ExitCode.SUCCESS if complete else ExitCode.REFUSED)


def _print_losses(
    exact: Path, file: Path, quantized: Model, lost: ModelLoss, every: bool, html: Path | None, as_json: bool
) -> None:
    """Print the losses, and write the page."""
    title = f"{file.name} compared with {exact.name}"
    if html:
        write_losses(html, quantized, lost, title)
    if as_json:
        print_json("compare-quantized", {"model": str(exact), "quantized": str(file), **asdict(lost)})
    else:
        show_losses(console(), lost, title, every)


def _print_recording(model: nnapi.Model, recording: Path, devices: Sequence[str], as_json: bool) -> int:
    device = _find_one(devices)
    found = compare_recording(model, recording, device)
    beyond = [one for one in found if one.reason]
    if as_json:
        runs = list(map(asdict, found))
        described = {"model": model.name, "recording": str(recording), "device": device.name, "runs": runs}
        print_json("compare-recording", described)
    else:
        out, nothing = console(), f"no result differs in {pluralize(len(found), 'run')}"
        words = f"{beyond[0].name} is the first that differs" if beyond else nothing
        out.print(Text(f"{model.name}: {device.name} compared with {recording.name}: {words}", style="bold"))
        rows = ((Text(one.name), *_format_distance(one.distance), Text(one.reason)) for one in found)
        out.print(indent(table("run", "off by", "dB", "why", rows=rows, right=["off by", "dB"])))
    return ExitCode.DIFFERENT if beyond else ExitCode.SUCCESS


def compare_recording(model: Model, recording: Path, on: nnapi.Device) -> list[RecordedRun]:
    """Compare with all recorded runs that have the model's input and output types; Mistake if there are none."""
    fitting = [each for each in Corpus(recording).examples() if each.harness.generated and _fits(model, each)]
    if not fitting:
        raise UnusableFile(f"no run in {recording.name} has the input and output types of {model.name}")
    compilation = nnapi.compile(model, on)
    compared = []
    for example in fitting:
        found = compilation.run(*(example.inputs[index] for index in example.main.inputs))
        right = [example.outputs[index] for index in example.main.outputs]
        reason = judge(example, found) or ""
        compared.append(RecordedRun(example.name, measure_outputs(model, right, found), reason))
    return compared


def _fits(model: Model, example: Example) -> bool:
    """Return whether model and example have the same input and output types; unspecified dimensions match any."""
    values = {**example.outputs, **example.inputs}
    main = example.main
    return (len(model.inputs), len(model.outputs)) == (len(main.inputs), len(main.outputs)) and all(
        _is_like(model.operands[own].type, main.operands[other], values.get(other))
        for own, other in zip([*model.inputs, *model.outputs], [*main.inputs, *main.outputs], strict=True)
    )


def _is_like(type: OperandType, spec: OperandSpec, value: Array | None) -> bool:
    if value is None or type.name != spec.type or combine(type.dimensions, value.shape) is None:
        return False
    return not type.is_quantized or (type.scale, type.zero_point) == (spec.scale, spec.zero_point)


def _find_one(devices: Sequence[str]) -> nnapi.Device:
    if len(devices) > 1:
        raise Mistake(f"with a file in --against, give one --device, not {len(devices)}")
    return nnapi.device([*devices, REFERENCE][0])


def _find_devices(devices: Sequence[str], against: str | None) -> list[nnapi.Device]:
    names = devices or [REFERENCE if against else "xnnpack-cpu"]
    if len(names) > (1 if against else 2):
        raise Mistake(f"give one{' --device beside --against' if against else ' or two of --device'}, not {len(names)}")
    if against is None:
        return [nnapi.device(name) for name in [REFERENCE, *names][-2:]]
    if against not in SUFFIXES:
        raise Mistake(
            f"--against is {against}, must be {', '.join(SUFFIXES)}, a recording ({EXAMPLES}) "
            f"or a quantized model ({', '.join(QUANTIZERS)})"
        )
    try:
        return [nnapi.device(names[0]), open_engine(against)]
    except ImportError as error:
        raise Mistake(f"{against} is not installed: {error}") from None


def _summarize(found: Divergence) -> str:
    first, steps = found.first, found.steps
    if first:
        return f"{first.operation} (#{first.number}), which gives {', '.join(first.results)}, is the first that differs"
    counts = {verdict: sum(step.verdict is verdict for step in steps) for verdict in Closeness}
    words = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    nothing = "no result differs" if found.is_complete else "no compared result differs"
    return f"{nothing} in {pluralize(len(steps), 'operation')} ({', '.join(words)})"


def _table(steps: Sequence[Step]) -> Any:
    right = ["#", "off by", "dB", "whole model", "dB (whole)"]
    rows = table("#", "operation", "on equal inputs", *right[1:], "why", right=right)
    for step in steps:
        distances = [*_format_distance(step.alone), *_format_distance(step.grown)]
        rows.add_row(str(step.number), step.operation, step.verdict, *distances, Text(step.reason))
    return rows


def _format_distance(distance: Distance | None) -> tuple[str, str]:
    if distance is None:
        return "", ""
    unit = "" if not distance.in_steps else " step" if distance.largest == 1 else " steps"
    return f"{distance.largest:.3g}{unit}", "" if distance.decibels is None else f"{distance.decibels:.1f}"
