"""The metadata of a model's file: task, preparation of inputs, labels."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from nnapi.errors import BadDataError
from nnapi.formats.tflite import IDENTIFIER
from nnapi.formats.tflite.metadata import Anchors, Content, Metadata, TensorNotes, read_associated_file, read_metadata
from nnapi.model.memory import Memory
from nnapi.vision.labels import split_labels
from nnapi.vision.pictures import PLAIN, Pixels
from nnapi.vision.task import Task

LONGEST = 1 << 20
"""Maximum characters of the names of classes in an ONNX file."""
TASKS_BY_NAME = {
    "ImageClassifier": Task.CLASSIFICATION,
    "ObjectDetector": Task.DETECTION,
    "ImageSegmenter": Task.SEGMENTATION,
    "AudioClassifier": Task.AUDIO_EVENTS,
    "ImageEmbedder": Task.EMBEDDING,
    "AudioEmbedder": Task.EMBEDDING,
}
"""Names of models in TFLite's metadata."""
TASKS_OF_ONNX = {"classify": Task.CLASSIFICATION, "detect": Task.DETECTION, "pose": Task.POSE} | {
    str(task): task for task in Task
}
"""Values of the property "task" of .onnx files."""
RANGES = {
    "NominalRange_0_255": Pixels((0.0,), (1.0,)),
    "Normalized_0_1": Pixels((0.0,), (255.0,)),
    "Normalized_1_1": Pixels((127.5,), (127.5,)),
}
"""Values of the property RANGE of .onnx files, as ONNX defines them."""
RANGE = "Image.NominalPixelRange"
MEAN, STD, THRESHOLD, RATE = "nnapi.mean", "nnapi.std", "nnapi.threshold", "nnapi.sample_rate"
"""Properties of .onnx files that ``nnapi export`` writes, because ONNX defines none for these facts."""


@dataclass(frozen=True)
class Description:
    """Metadata; None, empty or 0 for what the file lacks. ``warning`` describes damage in it."""

    task: Task | None = None
    pixels: Pixels = PLAIN
    labels: tuple[str, ...] = ()
    threshold: float | None = None
    sample_rate: int = 0
    anchors: Anchors | None = None
    warning: str = ""


def describe(file: Path) -> Description:
    """Read the metadata of the file; damaged metadata is omitted, with a warning."""
    try:
        content = Memory.from_file(file).view().data.toreadonly()
    except OSError:
        return Description()  # the model may come from another file
    try:
        if content[4:8] == IDENTIFIER:
            metadata = read_metadata(content)
            return _from_tflite(file, metadata) if metadata else Description()
        return _from_onnx(file) if file.suffix == ".onnx" else Description()
    except BadDataError as error:
        return Description(warning=f"{file.name}: its metadata is not used: {error.message}")


def _from_tflite(file: Path, metadata: Metadata) -> Description:
    first = metadata.inputs[0] if metadata.inputs else TensorNotes()
    named = next((each.labels for each in metadata.outputs if each.labels), "")
    labels: tuple[str, ...] = ()
    warning = ""
    if named:
        try:
            labels = tuple(split_labels(read_associated_file(file, named).decode("utf-8-sig")))
        except UnicodeDecodeError:
            warning = f"{file.name}: its labels are not used: {named} is not text in UTF-8"
        except BadDataError as error:
            warning = f"{file.name}: its labels are not used: {error.message}"
    threshold = next((each.threshold for each in metadata.outputs if each.threshold is not None), None)
    pixels = Pixels(first.mean or None, first.std or None)
    if 0 in first.std:
        pixels, warning = Pixels(), f"{file.name}: its normalization is not used: it divides by 0"
    anchors, rate = metadata.anchors, first.sample_rate
    return Description(_find_task(metadata), pixels, labels, threshold, rate, anchors, warning)


def _find_task(metadata: Metadata) -> Task | None:
    if metadata.anchors or any(each.content is Content.BOXES for each in metadata.outputs):
        return Task.DETECTION
    if metadata.inputs and metadata.inputs[0].content is Content.AUDIO and len(metadata.outputs) == 1:
        return Task.AUDIO_EVENTS if metadata.outputs[0].labels else Task.EMBEDDING
    return TASKS_BY_NAME.get(metadata.name)


def read_properties(file: Path) -> tuple[dict[str, str], str]:
    """Return the properties and the description of an .onnx file; nothing if it is not a model."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(file, load_external_data=False)
    except DecodeError:
        return {}, ""
    return {each.key: each.value for each in model.metadata_props}, model.doc_string


def _from_onnx(file: Path) -> Description:
    facts, _ = read_properties(file)
    labels: tuple[str, ...] = ()
    warning = ""
    if "names" in facts:
        labels = _read_names(facts["names"])
        warning = "" if labels else f"{file.name}: its labels are not used: names is neither a list nor a dictionary"
    pixels = RANGES.get(facts.get(RANGE, "")) or Pixels(_read_numbers(facts, MEAN), _read_numbers(facts, STD))
    if pixels.std and 0 in pixels.std:
        pixels, warning = Pixels(), f"{file.name}: its normalization is not used: it divides by 0"
    threshold, rate = _read_numbers(facts, THRESHOLD), _read_numbers(facts, RATE)
    least = threshold[0] if threshold else None
    task = TASKS_OF_ONNX.get(facts.get("task", ""))
    return Description(task, pixels, labels, least, int(rate[0]) if rate else 0, warning=warning)


def _read_numbers(facts: Mapping[str, str], name: str) -> tuple[float, ...] | None:
    """Return the numbers of a property, separated by commas; None if it is absent or is not finite numbers."""
    try:
        found = tuple(map(float, facts[name].split(",")))
    except (KeyError, ValueError):
        return None
    return found if all(map(isfinite, found)) else None


def _read_names(text: str) -> tuple[str, ...]:
    """Return labels from a list, or from a dictionary by index, as Python or JSON writes them; () for other text."""
    if len(text) > LONGEST:
        return ()
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    if isinstance(found, Mapping):
        try:
            by_number = {int(number): str(name) for number, name in found.items()}
        except (TypeError, ValueError):
            return ()
        return tuple(by_number.get(n, f"class {n}") for n in range(len(by_number))) if by_number else ()
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()
