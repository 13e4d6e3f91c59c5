"""``nnapi migrate``: an application's models as .tflite files, and the accelerators of LiteRT that take them."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

import nnapi
from nnapi.cli.failure import ExitCode
from nnapi.cli.file_driver import FileDriver, measure_file
from nnapi.cli.info import EXAMPLES, examples_by_model
from nnapi.cli.inputs import read_arrays
from nnapi.cli.options import Json, ModelFiles, Names, Seed, device_option, load
from nnapi.cli.progress import progress
from nnapi.cli.text import console, indent, print_json, table
from nnapi.cli.vendor_compilers import Answer, ask_compilers
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import NnapiError
from nnapi.lowering.decompose import decompose_call
from nnapi.lowering.lower import KnownTypes, Unsupported, normalize_call
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array
from nnapi.printable import format_bytes
from nnapi.report.engines import OTHERS, UnsuitableError
from nnapi.report.html import migration_page
from nnapi.runtime.choice.judge import Distance
from nnapi.runtime.planning.grouping import group_by_owner
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.testing.build import build
from nnapi.testing.divergence import Divergence, Verdict, each_alone, find_divergence
from nnapi.testing.example import Example, OperandSpec, Source, as_signed

# Accelerators that an application may use instead of NNAPI


class DeviceAccelerator:
    """A device here, a profile (.toml), or a device of another NNAPI library."""

    def __init__(self, name: str) -> None:
        self.name, self._device = name, nnapi.device(name)

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        """Return for each operation why it is refused, "" if it is taken; ``parts`` are the operations as models."""
        answers = need_verdicts(self._device.driver, model)
        return ["" if answer.supported else answer.reason or "refused without a reason" for answer in answers]

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        """Return the number of partitions that the accelerator computes."""
        owners = {call.number: not refusal for call, refusal in zip(model.operations, refusals, strict=True)}
        return sum(bool(owner) for owner, _ in group_by_owner(model, owners))


class Xnnpack:
    """LiteRT's default delegate. It gives no reasons, so each operation is tried as a file of its own."""

    name = "LiteRT XNNPACK"

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        return list(map(self._find_refusal, parts))

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return self._list_operators(model).count("DELEGATE")

    def _find_refusal(self, part: Model) -> str:
        try:
            names = self._list_operators(part)
        except (NnapiError, ValueError, RuntimeError) as error:
            return str(error).splitlines()[0]
        return "" if "DELEGATE" in names else f"LiteRT computes {' and '.join(dict.fromkeys(names))} without XNNPACK"

    def _list_operators(self, model: Model) -> list[str]:
        """Return the names of the operators in LiteRT's graph; ``DELEGATE`` is a partition of XNNPACK."""
        from ai_edge_litert.interpreter import Interpreter

        with tempfile.TemporaryDirectory(prefix="nnapi-") as folder, hide_delegate_message():
            nnapi.export(model, path := Path(folder) / "model.tflite")
            interpreter = Interpreter(str(path), num_threads=1)
            interpreter.allocate_tensors()
            return [operator["op_name"] for operator in interpreter._get_ops_details()]


Accelerator: TypeAlias = DeviceAccelerator | Xnnpack


GPU = "webgpu"


@dataclass(frozen=True)
class Operation:
    """``refusals`` and ``edits`` by accelerator; those that take the operation are absent."""

    number: int
    operation: str
    verdict: str
    reason: str
    refusals: dict[str, str]
    edits: dict[str, list[str]]


@dataclass
class Migration:
    """One model: its file, or the reason why there is none; how far LiteRT is from the reference, and who takes it."""

    model: str
    file: str | None = None
    bytes: int = 0
    problem: str = ""
    distance: Distance | None = None
    is_equal: bool = False
    accelerators: list[Answer] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    summary: str = "not the same results in LiteRT"


def migrate(
    models: ModelFiles,
    report: Annotated[Path | None, typer.Option("--report", metavar="PAGE.html", help="Write one page.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the .tflite files.")] = Path("migrated"),
    device: Annotated[
        Names, device_option("Also this device: a profile (.toml), or one of a phone. Repeat it for more.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write models as .tflite, compare them with the reference, and list the accelerators that take them.

    MODEL may be a recording (.npz) of an application, as NNAPI_RECORD writes it: then all its models are written, and
    run on the recorded inputs. Exit code 1 if a file computes something else than its model, 3 if one is not written.
    """
    gpu = [each.name for each in nnapi.devices() if each.name == GPU]
    accelerators: list[Accelerator] = [Xnnpack(), *map(DeviceAccelerator, dict.fromkeys([*gpu, *(device or ())]))]
    terminal = console()
    out.mkdir(parents=True, exist_ok=True)
    subjects = [subject for file in models for subject in _read(file, seed)]
    with progress(terminal, len(subjects)) as step:
        for migration, model, inputs in subjects:
            step(f"migrating {migration.model}")
            if model is not None:
                _migrate(migration, model, inputs, out / f"{migration.model}.tflite", accelerators)
            if not as_json:
                _show(terminal, migration)
    found = [migration for migration, _, _ in subjects]
    unavailable = [each._asdict() for each in nnapi.unavailable_devices() if each.name == GPU]
    data = {"models": list(map(asdict, found)), "unavailable": unavailable}
    if report:
        report.write_text(migration_page(**data), encoding="utf-8", errors="replace")
    if as_json:
        print_json("migrate", data)
    if any(each.file and not each.is_equal for each in found):
        raise typer.Exit(ExitCode.DIFFERENT)
    if any(each.problem for each in found):
        raise typer.Exit(ExitCode.REFUSED)


def _read(file: Path, seed: int) -> Iterator[tuple[Migration, Model | None, list[Array | None]]]:
    """Yield each model in a file with its inputs; None for a model that is refused."""
    if file.suffix != EXAMPLES:
        model = load(file)
        yield Migration(file.stem), model, [*read_arrays(model, [], seed)]
        return
    for number, (example, *_) in enumerate(examples_by_model(file)):
        migration = Migration(f"{file.stem}-{number}")
        try:
            yield migration, build(example), [example.inputs[index] for index in example.main.inputs]
        except NnapiError as error:
            migration.problem = str(error)
            yield migration, None, []


def _migrate(
    migration: Migration, model: Model, inputs: Sequence[Array | None], file: Path, accelerators: Sequence[Accelerator]
) -> None:
    try:
        nnapi.export(model, file)
        migration.file, migration.bytes = str(file), file.stat().st_size
        found = find_divergence(model, inputs, nnapi.Device(FileDriver(OTHERS["litert"], ".tflite")))
        migration.distance = measure_file(OTHERS["litert"], file, model, inputs)
        migration.is_equal = found.first is None and found.is_complete
        migration.problem = found.failure
    except (NnapiError, UnsuitableError) as error:
        migration.problem = str(error)
        return
    if migration.is_equal:
        off = f"{migration.distance.largest:.3g}{' steps' if migration.distance.in_steps else ''}"
        migration.summary = f"each operation gives the same in LiteRT within rounding, the whole model is off by {off}"
    parts = [part for _, part in each_alone(model, inputs)]
    refusals = {each.name: each.list_refusals(model, list(map(build, parts))) for each in accelerators}
    migration.accelerators = [
        Answer(each.name, refused.count(""), len(refused), each.count_partitions(model, refused))
        for each, refused in zip(accelerators, refusals.values(), strict=True)
    ]
    migration.accelerators += ask_compilers(file, file.with_suffix(".partitioned"))
    file.with_suffix(".partitioned").unlink(missing_ok=True)
    migration.operations = list(_describe(found, parts, accelerators, refusals))


def _describe(
    found: Divergence, parts: Sequence[Example], accelerators: Sequence[Accelerator], refusals: dict[str, list[str]]
) -> Iterator[Operation]:
    for index, (step, part) in enumerate(zip(found.steps, parts, strict=True)):
        call = f"{step.operation} (#{step.number})"
        refused = {
            name: reasons[index].removeprefix(call).lstrip(": ") for name, reasons in refusals.items() if reasons[index]
        }
        edited = list(list_edits(part)) if refused else []
        edits = {
            each.name: [
                words for words, model in edited if not any(each.list_refusals(model, [model] * len(model.operations)))
            ]
            for each in accelerators
            if each.name in refused
        }
        yield Operation(step.number, step.operation, str(step.verdict), step.reason, refused, edits)


def _show(out: Console, migration: Migration) -> None:
    if migration.file is None:
        out.print(Text(f"{migration.model}: not written: {migration.problem}", "yellow"))
        return
    out.print(Text(f"{migration.file}: {format_bytes(migration.bytes)}, {migration.summary}", "bold"))
    rows = table("accelerator", "takes", "partitions", "", right=["takes", "partitions"])
    for each in migration.accelerators:
        counts = (f"{each.taken} of {each.total}", str(each.partitions)) if not each.problem else ("", "")
        rows.add_row(each.name, *counts, Text(each.problem))
    out.print(indent(rows))
    if migration.problem:
        out.print(Text(f"  {migration.problem}", "yellow"))
    for operation in migration.operations:
        if operation.verdict in (Verdict.DIFFERS, Verdict.FAILED, Verdict.UNJUDGED):
            title = f"{operation.operation} (#{operation.number})"
            out.print(Text(f"  {title} {operation.verdict}: {operation.reason}", "red"))
    for (name, *words), numbers in _group(migration.operations).items():
        more = f" and {len(numbers) - 1} more" if numbers[1:] else ""
        out.print(Text(f"  {name} (#{numbers[0]}{more}): {'; '.join(words)}"))


def _group(operations: Sequence[Operation]) -> dict[tuple[str, ...], list[int]]:
    """Return the numbers of the operations that are refused for the same reason."""
    groups = defaultdict[tuple[str, ...], list[int]](list)
    for each in operations:
        for name, reason in each.refusals.items():
            groups[each.operation, f"{name}: {reason}", *each.edits[name]].append(each.number)
    return groups


# Edits of one operation that may let an accelerator take it

QUANTIZED = (
    "TENSOR_QUANT8_ASYMM",
    "TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_QUANT8_SYMM",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL",
)
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D", "FULLY_CONNECTED")


def list_edits(part: Example) -> Iterator[tuple[str, Model]]:
    """Yield each edit that changes the operation, in words and as the edited model."""
    for words, edit in EDITS.items():
        edited = edit(part)
        if edited.main.operands != part.main.operands:
            try:
                yield words, build(edited)
            except NnapiError:
                continue  # the operation does not have the type, or the operand may not be constant
    if decomposed := _decompose(build(part)):
        names = dict.fromkeys(call.name for call in decomposed.operations)
        yield f"write it as {', '.join(names)}", decomposed


def _use_floats(part: Example) -> Example:
    """Replace quantized values, and the bias beside quantized weights, by float32."""
    (operation,) = part.main.operations
    bias = operation.inputs[2] if operation.type in WEIGHTED else None
    operands = list(part.main.operands)
    for index, operand in enumerate(operands):
        if operand.type in QUANTIZED or (index == bias and operand.type == "TENSOR_INT32"):
            data = None if operand.data is None else operand.data.astype(np.float32)
            operands[index] = replace(
                operand, type="TENSOR_FLOAT32", scale=0.0, zero_point=0, channel_quant=None, data=data
            )
    return _replace_operands(part, operands)


def _use_constants(part: Example) -> Example:
    """Make all inputs but the first constants."""
    kept = part.main.inputs[:1]
    operands = [
        replace(each, lifetime=Source.CONSTANT_COPY, data=part.inputs[index])
        if index in part.main.inputs and index not in kept and part.inputs[index] is not None
        else each
        for index, each in enumerate(part.main.operands)
    ]
    return _replace_operands(replace(part, main=replace(part.main, inputs=kept)), operands)


def _replace_operands(part: Example, operands: list[OperandSpec]) -> Example:
    return replace(part, main=replace(part.main, operands=tuple(operands)))


EDITS: dict[str, Callable[[Example], Example]] = {
    "quantize it as signed 8-bit": as_signed,
    "keep it in float32": _use_floats,
    "make its other inputs constants": _use_constants,
}


def _decompose(model: Model) -> Model | None:
    """Return the operation as simpler ones, if there are any."""
    (call,) = model.operations
    types = KnownTypes(model, {operand.index: operand.type for operand in model.operands})
    values = {o.index: o.value for o in model.operands if o.lifetime is Lifetime.CONSTANT}
    try:
        normal = normalize_call(model, call, types, values.__getitem__)
        decomposition = decompose_call(model, call, normal, types, values)
    except (NnapiError, Unsupported, KeyError):
        return None
    return None if decomposition is None else decomposition.model
