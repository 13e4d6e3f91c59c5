"""The model of ``nnapi run`` with its task, family, preparation of inputs and labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nnapi
from nnapi.cli.command import refuse_options
from nnapi.cli.failure import warn
from nnapi.cli.options import load
from nnapi.cli.run_options import RunOptions
from nnapi.cli.sounds import takes_samples
from nnapi.errors import Mistake
from nnapi.operation_codes import DETECTIONS, CompositeCode
from nnapi.printable import pluralize
from nnapi.vision.families import find_family
from nnapi.vision.families.family import input_shape
from nnapi.vision.families.segmentation import count_classes
from nnapi.vision.file_metadata import Description, describe
from nnapi.vision.labels import find_data_set, fit_labels, fit_object_labels, read_labels
from nnapi.vision.output_summaries import class_count, output_operands
from nnapi.vision.pictures import Pixels, picture_size
from nnapi.vision.pixel_ranges import find_pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints

SCORED = (Task.DETECTION, Task.POSE, Task.LANDMARKS, Task.SEGMENTATION, Task.AUDIO_EVENTS)
"""Tasks whose results may have a least score."""
DRAWN = (Task.DETECTION, Task.SEGMENTATION, Task.AUDIO_EVENTS)
"""Tasks whose number of classes may be unknown."""

CROP = (
    "landmarks are correct only if the picture shows one upright face, eye, hand or person and "
    "little else; a person must be visible from head to feet, with the hips in the middle"
)


@dataclass(frozen=True)
class Subject:
    """A model, and the facts by which its results are shown; ``notes`` lists the guesses among them."""

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
    _refuse_without_effect(model, task)
    labels, notes = _labels(model, options.labels, task, metadata)
    if family and family.evidence and not (options.task or metadata.task):
        notes.insert(0, f"shown as {family.name}: guessed from {family.evidence}; --as sets another task")
    if task is Task.LANDMARKS:
        notes.append(CROP)
    if not pixels.is_given:
        pixels = find_pixels(model, metadata.pixels, family)
    least = metadata.threshold if options.score is None else options.score
    return Subject(model, task, Hints(labels, least, metadata.anchors), pixels, metadata.sample_rate, tuple(notes))


def _refuse_without_effect(model: nnapi.Model, task: Task | None) -> None:
    what = f"the results are of the task {task}" if task else "the model's task is unknown"
    if not is_classified(model, task):
        refuse_options(["top"], f"{what}, not classes")
    if task not in SCORED or (task is Task.SEGMENTATION and count_classes(model) != 1):
        refuse_options(["score"], f"{what}, without boxes, points or masks that have scores")


def is_classified(model: nnapi.Model, task: Task | None) -> bool:
    """Return whether the first output is shown as a list of classes."""
    return task is Task.CLASSIFICATION or (task in (None, Task.AUDIO_EVENTS) and class_count(model) is not None)


def _task_of_classifier(model: nnapi.Model) -> Task | None:
    if class_count(model) and len(model.inputs) == 1 and takes_samples(model.operands[model.inputs[0]].type):
        return Task.AUDIO_EVENTS
    return None


def count_labels(model: nnapi.Model, task: Task | None) -> int | None:
    """Return the number of classes that a task needs labels for; None if unknown."""
    if task is Task.SEGMENTATION:
        return count_classes(model)
    if task is Task.DETECTION:
        call = next((call for call in model.operations if call.code in DETECTIONS), None)
        if call is None:
            return None
        lacks_background = call.code == CompositeCode.DETECTION_POSTPROCESSING_V2
        return model.operands[call.inputs[0]].type.dimensions[-1] + lacks_background
    count = class_count(model)
    if count is None and task is Task.CLASSIFICATION:
        count = math.prod(output_operands(model)[0].type.dimensions)
    return count


def _labels(
    model: nnapi.Model, file: Path | None, task: Task | None, metadata: Description
) -> tuple[Sequence[str] | None, list[str]]:
    """Return the labels, from the option, the model's file or a known data set, and notes on guesses."""
    count = count_labels(model, task)
    if file is not None:
        names = read_labels(file)
        if count is None and task not in DRAWN:
            raise Mistake(f"{file.name} cannot be used: the model is not a classifier")
        return _fit(names, count, task, file.name)
    if metadata.labels:
        try:
            return _fit(metadata.labels, count, task, "the model's file")
        except Mistake as mistake:
            warn(f"its labels are not used: {mistake}")
            return None, []
    shape = input_shape(model)
    known = find_data_set(task or (Task.CLASSIFICATION if len(shape) == 4 else None), count, picture_size(shape))
    if known is None:
        return None, []
    data, names = known
    return names, [
        (f"class names are those of {data.name}, guessed from the number of classes, {count}; --labels sets others")
    ]


def _fit(
    labels: Sequence[str], count: int | None, task: Task | None, name: str
) -> tuple[Sequence[str] | None, list[str]]:
    """Return the labels of a task's classes, with a note if their number is unknown; Mistake for another number."""
    if count is None:
        classes = pluralize(len(labels), "class")
        return labels, [f"{name} names {classes}; how many the model distinguishes is unknown"]
    if task is Task.DETECTION:
        return fit_object_labels(labels, count - 1, name), []
    if count == 1 and task is Task.SEGMENTATION:  # a mask of one thing
        return labels, []
    return fit_labels(labels, count, name), []
