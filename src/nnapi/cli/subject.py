"""The model of ``nnapi run`` with its task, family, preparation of inputs and labels."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import nnapi
from nnapi.cli.cluster_runs import On
from nnapi.cli.failure import warn
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    ModelFile,
    Names,
    ProfileFile,
    Seed,
    device_option,
    load,
)
from nnapi.cli.sounds import takes_samples
from nnapi.codes import OperationCode
from nnapi.errors import Mistake
from nnapi.vision.families import find_family
from nnapi.vision.families.family import input_shape
from nnapi.vision.families.masks import count_classes
from nnapi.vision.file_metadata import Description, describe
from nnapi.vision.labels import find_data_set, fit_labels, read_labels
from nnapi.vision.outputs import class_count, output_operands
from nnapi.vision.pictures import Pixels, picture_size
from nnapi.vision.pixel_ranges import find_pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints


@dataclass
class RunOptions:
    model: ModelFile
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT",
            help="Pictures, .npy or .wav files, or folders of them: one run each, or one for each of several model "
            "inputs. Random values where there is none.",
            show_default=False,
        ),
    ] = None
    device: Annotated[Names, device_option("Run on this device only (may be repeated).")] = None
    threads: Annotated[int | None, typer.Option(min=1, help="Threads that a run may use.")] = None
    profile: ProfileFile = None
    labels: Annotated[Path | None, typer.Option(help="Names of the classes, one per line.")] = None
    top: Annotated[int, typer.Option(min=1, help="How many classes to show.")] = 5
    score: Annotated[
        float | None, typer.Option(help="Score from which on boxes, key points and masks count, from 0 to 1.")
    ] = None
    range: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Float values for black and white: 0,1 or -1,1 or 0,255.")
    ] = None
    mean: Annotated[
        str | None,
        typer.Option(help="Subtracted from pixels 0 to 255, one number or one per channel: 123.7,116.3,103.5."),
    ] = None
    std: Annotated[str | None, typer.Option(help="Divides the pixels after that.")] = None
    seed: Seed = 0
    int16_as_float: Int16AsFloat = False
    weights: AsWeights = None
    precision: AsPrecision = None
    shapes: InputShapes = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with everything that would be drawn.")] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write each output, as the model stores it, to a .npy file in this folder, and the picture drawn.",
        ),
    ] = None
    task: Annotated[
        Task | None, typer.Option("--as", help="The purpose of the model, where its outputs do not tell.")
    ] = None
    picture: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Write the result into this picture: boxes, masks, key points, classes."),
    ] = None
    on: On = None
    jsonl: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="Append a line of JSON for each run to this file, and leave out the runs that succeeded before.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.on and self.profile:
            raise Mistake("--profile is of this machine, and --on of others: give one of them")
        if self.range and (self.mean or self.std):
            raise Mistake("--range says the same as --mean and --std: give one of them")

    def pixels(self) -> Pixels:
        if self.range:
            limits = _numbers("--range", self.range) or ()
            if len(limits) != 2 or limits[0] == limits[1]:
                raise typer.BadParameter(f"{self.range!r} is not two different numbers", param_hint="--range")
            return Pixels.of_range(*limits)
        found = Pixels(_numbers("--mean", self.mean), _numbers("--std", self.std))
        if found.std and 0 in found.std:
            raise typer.BadParameter("must not be 0", param_hint="--std")
        return found


def with_options(command: Callable[[RunOptions], None]) -> Callable[..., None]:
    """Turn the function into a command whose options are the fields of its argument."""

    def call(**values: Any) -> None:
        command(RunOptions(**values))

    call.__doc__, call.__name__ = command.__doc__, command.__name__
    call.__annotations__ = get_type_hints(RunOptions, include_extras=True)
    call.__signature__ = inspect.signature(RunOptions, eval_str=True)  # type: ignore[attr-defined]  # which Typer reads
    return call


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one number or several with commas", param_hint=option) from None


DRAWN = (Task.DETECTION, Task.SEGMENTATION, Task.AUDIO_EVENTS)
"""Tasks with possibly more labels than the classes that one result distinguishes."""

CROP = (
    "landmarks are right only in a picture that shows one such thing, upright, and little else; a person from head to "
    "feet, the hips in the middle"
)


@dataclass(frozen=True)
class Subject:
    """A model and the facts that its results are shown by; ``notes`` are guesses."""

    model: nnapi.Model
    task: Task | None
    hints: Hints
    pixels: Pixels
    sample_rate: int
    notes: tuple[str, ...]


def load_subject(options: RunOptions) -> Subject:
    pixels = options.pixels()
    model = load(options.model, options.int16_as_float, options.shapes, options.weights)
    metadata = describe(options.model)
    if metadata.warning:
        warn(metadata.warning)
    family = find_family(model, options.task or metadata.task)
    task = options.task or metadata.task or (family.task if family else _task_of_classifier(model))
    labels, notes = _labels(model, options.labels, task, metadata)
    if family and family.evidence and not (options.task or metadata.task):
        notes.insert(0, f"shown as {family.name}: guessed from {family.evidence}; --as says otherwise")
    if task is Task.LANDMARKS:
        notes.append(CROP)
    if not pixels.is_given:
        pixels = find_pixels(model, metadata.pixels, family)
    least = metadata.threshold if options.score is None else options.score
    return Subject(model, task, Hints(labels, least, metadata.anchors), pixels, metadata.sample_rate, tuple(notes))


def _task_of_classifier(model: nnapi.Model) -> Task | None:
    if class_count(model) and len(model.inputs) == 1 and takes_samples(model.operands[model.inputs[0]].type):
        return Task.AUDIO_EVENTS
    return None


def count_labels(model: nnapi.Model, task: Task | None) -> int | None:
    """Return the number of classes for a task; None if unknown."""
    if task is Task.SEGMENTATION:
        return count_classes(model)
    if task is Task.DETECTION:
        calls = (call for call in model.operations if call.code == OperationCode.DETECTION_POSTPROCESSING)
        return next((model.operands[call.inputs[0]].type.dimensions[-1] for call in calls), None)
    count = class_count(model)
    if count is None and task is Task.CLASSIFICATION:
        count = math.prod(output_operands(model)[0].type.dimensions)
    return count


def _labels(
    model: nnapi.Model, file: Path | None, task: Task | None, metadata: Description
) -> tuple[Sequence[str] | None, list[str]]:
    """Return the labels from the option, the model's file or a known data set, and the guesses."""
    count = count_labels(model, task)
    if file is not None:
        names = read_labels(file)
        if task in DRAWN:
            return names, []
        if count is None:
            raise Mistake(f"{file.name} cannot be used: the model does not distinguish classes")
        return fit_labels(names, count, file.name), []
    if metadata.labels:
        return _own_labels(metadata.labels, count, task), []
    shape = input_shape(model)
    known = find_data_set(task or (Task.CLASSIFICATION if len(shape) == 4 else None), count, picture_size(shape))
    if known is None:
        return None, []
    data, names = known
    return names, [f"names of classes are {data.name}'s, guessed from their count of {count}; --labels gives others"]


def _own_labels(labels: Sequence[str], count: int | None, task: Task | None) -> Sequence[str] | None:
    if not count or task in DRAWN:
        return labels
    try:
        return fit_labels(labels, count, "the model's file")
    except Mistake as mistake:
        warn(f"its labels are not used: {mistake}")
        return None
