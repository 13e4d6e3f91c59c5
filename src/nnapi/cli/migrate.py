"""``nnapi migrate``: write an application's models as .tflite files, and list the accelerators that accept them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import nnapi
from nnapi.cli.accelerators import NPUS, Accelerator, Answer, DeviceAccelerator, NoAnswerError, Xnnpack
from nnapi.cli.command import refuse_options
from nnapi.cli.export import need_other_file
from nnapi.cli.failure import ExitCode, describe_failure, fail, name_in_failure, warn
from nnapi.cli.file_driver import FileDriver, measure_file
from nnapi.cli.info import EXAMPLES, examples_by_model
from nnapi.cli.inputs import read_arrays
from nnapi.cli.options import Json, ModelFiles, Names, Page, Seed, device_option, load, need_page
from nnapi.cli.printing import console, indent, print_json, table
from nnapi.cli.progress import progress
from nnapi.cli.suggested_edits import list_edits
from nnapi.cli.vendor_compilers import list_compilers
from nnapi.errors import Mistake, NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.printable import format_bytes, pluralize
from nnapi.report.engines import OTHERS, UnsuitableError
from nnapi.report.html import migration_page
from nnapi.runtime.choice.judge import Distance
from nnapi.store.files import write_text
from nnapi.testing.build import build
from nnapi.testing.divergence import Closeness, Divergence, each_alone, find_divergence
from nnapi.testing.example import Example

GPU = "webgpu"
UNREADABLE = (Mistake, NnapiError, OSError)
"""Errors of a file or a model that do not keep others from being migrated."""


@dataclass(frozen=True)
class Operation:
    """An operation, with ``refusals`` and ``edits`` by accelerator; accelerators that accept it are absent."""

    number: int
    operation: str
    verdict: str
    reason: str
    refusals: dict[str, str]
    edits: dict[str, list[str]]


@dataclass
class Migration:
    """One model: its file, or the problem; LiteRT's distance from the reference; the accelerators' answers."""

    model: str
    file: str | None = None
    bytes: int = 0
    problem: str = ""
    distance: Distance | None = None
    is_equal: bool = False
    accelerators: list[Answer] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    summary: str = "LiteRT's results differ"


def migrate(
    models: ModelFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the .tflite files.")
    ] = Path("migrated"),
    html: Page = None,
    device: Annotated[
        Names, device_option("Also ask this device: a profile (.toml), or a device of a phone. Repeat it for more.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write models as .tflite, compare them with the reference, and list the accelerators that support them.

    MODEL may be a recording (.npz) of an application, made by NNAPI_RECORD; all its models are then written, and run on
    the recorded inputs. Exit code 1 if a file and its model have different results, 3 if a file cannot be written.
    """
    need_page(html)
    if all(file.suffix == EXAMPLES for file in models):
        refuse_options(["seed"], "a recording contains its inputs")
    _need_other_names(models, output)
    asked = [each.name for each in nnapi.devices() if each.name in (GPU, *NPUS)]
    devices = map(DeviceAccelerator, dict.fromkeys([*asked, *(device or ())]))
    accelerators: list[Accelerator] = [Xnnpack(), *devices, *list_compilers()]
    terminal = console()
    output.mkdir(parents=True, exist_ok=True)
    subjects = [subject for file in models for subject in _read(file, seed, is_only=len(models) == 1)]
    with progress(terminal, len(subjects)) as step:
        for migration, model, inputs in subjects:
            step(f"migrating {migration.model}")
            if model is not None:
                try:
                    _migrate(migration, model, inputs, output / f"{migration.model}.tflite", accelerators)
                except UNREADABLE as error:
                    if len(subjects) == 1:
                        raise
                    migration.problem = describe_failure(error)[1]
            if not as_json:
                _show(terminal, migration)
    found = [migration for migration, _, _ in subjects]
    unavailable = [each._asdict() for each in nnapi.unavailable_devices() if each.name == GPU]
    data = {"models": list(map(asdict, found)), "unavailable": unavailable}
    if html:
        write_text(html, migration_page(**data))
    if as_json:
        print_json("migrate", data)
    if any(each.file and not each.is_equal for each in found):
        raise typer.Exit(ExitCode.DIFFERENT)
    if failed := sum(bool(each.problem) for each in found):
        raise typer.Exit(fail(f"{failed} of {pluralize(len(found), 'model')} failed", ExitCode.REFUSED))


def _need_other_names(models: Sequence[Path], out: Path) -> None:
    """Raise Mistake if a file to write is one of the models, or is written for two of them."""
    written: dict[str, Path] = {}
    for file in models:
        need_other_file(file, out / f"{file.stem}.tflite", "name another folder")
        if (other := written.setdefault(file.stem, file)) is not file:
            raise Mistake(f"{other} and {file} would both be written to {out / file.stem}.tflite: rename one of them")


def _read(file: Path, seed: int, is_only: bool) -> Iterator[tuple[Migration, Model | None, list[Array | None]]]:
    """Yield each model in a file with its inputs; None for a model that is refused, and for a file that cannot be read,
    unless it is the only one."""
    try:
        yield from _read_models(file, seed)
    except UNREADABLE as error:
        if is_only:
            raise
        problem = name_in_failure(file, error)
        warn(problem)
        yield Migration(file.stem, problem=problem), None, []


def _read_models(file: Path, seed: int) -> Iterator[tuple[Migration, Model | None, list[Array | None]]]:
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
        migration.summary = (
            f"each operation has the same result in LiteRT within rounding; the whole model is off by {off}"
        )
    parts = [part for _, part in each_alone(model, inputs)]
    refusals: dict[str, list[str]] = {}
    for each in accelerators:
        migration.accelerators.append(_ask(each, model, parts, file.with_suffix(""), refusals))
    answered = [each for each in accelerators if each.name in refusals]
    migration.operations = list(_describe(found, parts, answered, refusals))


def _ask(
    accelerator: Accelerator, model: Model, parts: Sequence[Example], start: Path, refusals: dict[str, list[str]]
) -> Answer:
    """Return the answer of an accelerator, and add the reasons of its refusals; ``start`` begins names of files."""
    name, source = accelerator.name, accelerator.source
    try:
        refused = refusals[name] = accelerator.list_refusals(model, list(map(build, parts)))
    except (NoAnswerError, NnapiError) as error:
        return Answer(name, source, problem=str(error))
    taken, files, note = refused.count(""), list[Path](), ""
    try:
        files = accelerator.write_files(model, start) if taken else []
    except NoAnswerError as error:
        note = str(error)
    partitions = accelerator.count_partitions(model, refused)
    return Answer(name, source, taken, len(refused), partitions, files=tuple(map(str, files)), note=note)


def _describe(
    found: Divergence, parts: Sequence[Example], accelerators: Sequence[Accelerator], refusals: dict[str, list[str]]
) -> Iterator[Operation]:
    tried: dict[tuple[str, str, str], list[str]] = {}
    for index, (step, part) in enumerate(zip(found.steps, parts, strict=True)):
        call = f"{step.operation} (#{step.number})"
        refused = {
            name: reasons[index].removeprefix(call).lstrip(": ") for name, reasons in refusals.items() if reasons[index]
        }
        edits = dict[str, list[str]]()
        for each in accelerators:
            if each.name in refused:
                key = each.name, step.operation, refused[each.name] if each.is_slow else call
                edits[each.name] = tried[key] = tried[key] if key in tried else _list_helpful(each, part)
        yield Operation(step.number, step.operation, str(step.verdict), step.reason, refused, edits)


def _list_helpful(accelerator: Accelerator, part: Example) -> list[str]:
    """Return the edits after which an accelerator takes an operation."""

    def takes(model: Model) -> bool:
        return not any(accelerator.list_refusals(model, [model] * len(model.operations)))

    return [words for words, model in list_edits(part) if takes(model)]


def _show(out: Console, migration: Migration) -> None:
    if migration.file is None:
        out.print(Text(f"{migration.model}: not migrated: {migration.problem}", "yellow"))
        return
    out.print(Text(f"{migration.file}: {format_bytes(migration.bytes)}, {migration.summary}", "bold"))
    rows = table("accelerator", "takes", "partitions", "answer of", "", right=["takes", "partitions"])
    for each in migration.accelerators:
        counts = (f"{each.taken} of {each.total}", str(each.partitions)) if not each.problem else ("", "")
        rows.add_row(each.name, *counts, Text(each.source), Text(each.problem or each.note or ", ".join(each.files)))
    out.print(indent(rows))
    if migration.problem:
        out.print(Text(f"  {migration.problem}", "yellow"))
    for operation in migration.operations:
        if operation.verdict in (Closeness.DIFFERS, Closeness.FAILED, Closeness.UNJUDGED):
            title = f"{operation.operation} (#{operation.number})"
            out.print(Text(f"  {title} {operation.verdict}: {operation.reason}", "red"))
    for (name, *words), numbers in _group(migration.operations).items():
        more = f" and {len(numbers) - 1} more" if numbers[1:] else ""
        out.print(Text(f"  {name} (#{numbers[0]}{more}): {'; '.join(words)}"))


def _group(operations: Sequence[Operation]) -> dict[tuple[str, ...], list[int]]:
    """Return the numbers of the operations by the reasons for which they are refused."""
    groups = defaultdict[tuple[str, ...], list[int]](list)
    for each in operations:
        for name, reason in each.refusals.items():
            groups[each.operation, f"{name}: {reason}", *each.edits[name]].append(each.number)
    return groups
