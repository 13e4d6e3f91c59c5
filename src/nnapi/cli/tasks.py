"""What a model is for, by the shapes of its outputs, and what it saw: words and a picture."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnapi.cli.anchors import coding_from, coding_of, decode, find_detector, is_raw
from nnapi.cli.failure import Mistake
from nnapi.cli.outputs import class_count, output_operands, percent, real
from nnapi.cli.sounds import takes_samples
from nnapi.codes import OperationCode
from nnapi.formats.tflite.metadata import Anchors
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.4
"""Score of a box that is shown."""
NESTED = 0.8
"""Part of a box from which on it belongs to a likelier one of its class: models find parts of a thing again, and what
they suppress themselves are boxes of about the same size."""
LEAST_OF_RAW = 0.5
"""The same of boxes beside anchors."""
LEAST_OF_POINTS = 0.25
"""Score of a key point that is shown."""
LEAST_SHARE = 0.005
"""Part of a picture that a class must cover to be mentioned."""
GREYS_AND_COLOURS = (1, 3)
POINTS = (
    *("nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder", "left elbow"),
    *("right elbow", "left wrist", "right wrist", "left hip", "right hip", "left knee", "right knee", "left ankle"),
    "right ankle",
)
"""The key points of a person in the order of COCO."""
BONES = (
    *((0, 1), (0, 2), (1, 3), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10)),
    *((5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)
DEPTHS = ((20, 10, 80), (40, 90, 150), (40, 150, 130), (130, 200, 80), (255, 235, 60))
"""Colours from the least to the greatest depth."""
PLURALS = {"person": "people", "sheep": "sheep", "mouse": "mice", "knife": "knives", "skis": "skis"}


class Task(StrEnum):
    """What a model is for."""

    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    POSE = "pose"
    CLASSIFICATION = "classification"
    IMAGE = "image"
    DEPTH = "depth"
    AUDIO_EVENTS = "audio-events"
    EMBEDDING = "embedding"


@dataclass(frozen=True)
class Box:
    """Something that was found; top, left, bottom and right as parts of the picture's height and width."""

    label: str
    score: float
    place: tuple[float, float, float, float]
    number: int
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class View:
    """What was seen, in words, and the picture of it where there is one to draw on."""

    words: str
    picture: Image | None
    boxes: tuple[Box, ...] = ()


def find_task(model: Model) -> Task | None:
    """The task that shapes and operations tell; None where they tell none, and of classifiers of pictures."""
    shapes = [operand.type.dimensions for operand in output_operands(model)]
    if _is_detection(model, shapes) or find_detector(_input_shape(model), shapes):
        return Task.DETECTION
    if class_count(model) and len(model.inputs) == 1 and takes_samples(model.operands[model.inputs[0]].type):
        return Task.AUDIO_EVENTS
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    pictures = [s for s in (model.operands[i].type.dimensions for i in model.inputs) if len(s) == 4]
    if shape[-2:] == (len(POINTS), 3):
        return Task.POSE
    if not pictures or len(shape) not in (3, 4) or min(shape[1:3]) < 2:
        return None
    if len(shape) == 3:
        return Task.SEGMENTATION if output_operands(model)[0].type.dtype.kind in "iu" else Task.IMAGE
    return Task.IMAGE if shape[3] in GREYS_AND_COLOURS else Task.SEGMENTATION


def _is_detection(model: Model, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Boxes, classes, scores and a count, or what the operation for that gives."""
    found = any(call.code == OperationCode.DETECTION_POSTPROCESSING for call in model.operations)
    ranks = sorted(len(shape) for shape in shapes)
    return len(shapes) == 4 and ranks == [1, 2, 2, 3] and (found or any(s[-1] == 4 and len(s) == 3 for s in shapes))


def _input_shape(model: Model) -> Shape:
    return model.operands[model.inputs[0]].type.dimensions if model.inputs else ()


class Hints(NamedTuple):
    """What is known besides the outputs: names of classes, the score from which on a box counts, anchors."""

    labels: Sequence[str] | None = None
    least: float | None = None
    anchors: Anchors | None = None


def view(task: Task, model: Model, outputs: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    """What a run's outputs show, drawn on the picture that went in; a Mistake where they are not for that task."""
    numbers = [real(o.type, array) for o, array in zip(output_operands(model), outputs, strict=True)]
    try:
        return VIEWS[task](model, numbers, hints, picture)
    except (ValueError, IndexError):
        shapes = " and ".join(str(list(array.shape)) for array in numbers)
        raise Mistake(f"--as {task} does not fit outputs of shape {shapes}") from None


def _view_boxes(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    shapes = [array.shape for array in numbers]
    boxes = find_raw_boxes(model, numbers, hints) if is_raw(shapes) else find_boxes(numbers, hints.labels, hints.least)
    return View(_count(boxes), draw_boxes(picture, boxes) if picture else None, tuple(boxes))


def _view_points(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    points = numbers[0].reshape(-1, len(POINTS), 3)
    return View(_say_points(points), draw_points(picture, points) if picture else None)


def _view_classes(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    (found,) = numbers
    if found.ndim not in (3, 4):
        raise ValueError
    classes = found[0] if found.ndim == 3 else found[0].argmax(-1)
    return View(_say_classes(classes, hints.labels), draw_classes(picture, classes))


def _view_picture(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    shown = _as_picture(_as_pixels(numbers[0]))
    return View(f"a picture of {shown.width}×{shown.height}", shown)


def _view_depth(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    depths = _as_pixels(numbers[0])
    if depths.shape[2] != 1:
        raise ValueError
    words = f"{depths.shape[1]}×{depths.shape[0]} depths from {depths.min():.4g} to {depths.max():.4g}"
    shown = draw_depths(depths[..., 0])
    return View(words, shown.resize(picture.size) if picture else shown)


def _view_vector(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    vector = numbers[0].reshape(-1).astype(np.float64)
    return View(f"{vector.size} dimensions, norm {np.linalg.norm(vector):.4g}", None)


VIEWS: dict[Task, Callable[[Model, Sequence[Array], Hints, Any], View]] = {
    Task.DETECTION: _view_boxes,
    Task.POSE: _view_points,
    Task.SEGMENTATION: _view_classes,
    Task.IMAGE: _view_picture,
    Task.DEPTH: _view_depth,
    Task.EMBEDDING: _view_vector,
}
"""How each is shown; classes, and events over time, have tables of their own."""


# Detection


def find_raw_boxes(model: Model, numbers: Sequence[Array], hints: Hints) -> list[Box]:
    """The boxes that are stored beside anchors; a Mistake where nobody says where these are."""
    shapes = [array.shape for array in numbers]
    detector = find_detector(_input_shape(model), shapes)
    if hints.anchors is None and detector is None:
        raise Mistake(
            "the boxes cannot be found: the outputs are beside anchors, the file's metadata lists none, and it is no "
            "detector of MediaPipe's sizes"
        )
    coding = coding_from(hints.anchors) if hints.anchors else coding_of(detector)  # type: ignore[arg-type]  # one is there
    if len(coding.anchors) != shapes[0][1]:
        raise Mistake(f"the metadata lists {len(coding.anchors)} anchors, the outputs have {shapes[0][1]}")
    labels = hints.labels or ([coding.label] if coding.label else None)
    least = LEAST_OF_RAW if hints.least is None else hints.least
    found = decode(numbers, coding, least)
    return [Box(name_class(box.number, labels), box.score, box.place, box.number, box.points) for box in found]


def find_boxes(outputs: Sequence[Array], labels: Sequence[str] | None, least: float | None = None) -> list[Box]:
    """The boxes with a score of ``least`` (LEAST), of the first picture, one for each thing; outputs may come in either
    order in use."""
    least = LEAST if least is None else least
    (boxes,) = (array[0] for array in outputs if array.ndim == 3)
    (count,) = (int(array[0]) for array in outputs if array.ndim == 1)
    first, second = (array[0] for array in outputs if array.ndim == 2)
    is_class = bool((first[:count] == np.round(first[:count])).all())
    classes, scores = (first, second) if is_class else (second, first)
    found = [
        Box(name_class(int(classes[i]), labels), float(scores[i]), _place(boxes[i]), int(classes[i]))
        for i in range(count)
        if scores[i] >= least
    ]
    found.sort(key=lambda box: -box.score)
    kept: list[Box] = []
    for box in found:
        if not any(box.number == other.number and _share_inside(box, other) >= NESTED for other in kept):
            kept.append(box)
    return kept


def _share_inside(box: Box, other: Box) -> float:
    """The part of a box that lies in another."""
    top, left, bottom, right = box.place
    high = min(bottom, other.place[2]) - max(top, other.place[0])
    wide = min(right, other.place[3]) - max(left, other.place[1])
    return max(high, 0) * max(wide, 0) / max((bottom - top) * (right - left), 1e-9)


def _place(box: Array) -> tuple[float, float, float, float]:
    top, left, bottom, right = box.tolist()
    return top, left, bottom, right


def name_class(number: int, labels: Sequence[str] | None) -> str:
    return labels[number] if labels and 0 <= number < len(labels) else f"class {number}"


def _count(boxes: Sequence[Box]) -> str:
    """``2 cats, 1 dog``."""
    counts = Counter(box.label for box in boxes)
    return (
        ", ".join(f"{count} {_plural(label) if count > 1 else label}" for label, count in counts.items()) or "nothing"
    )


def _plural(noun: str) -> str:
    return PLURALS.get(noun) or noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def draw_boxes(picture: Image, boxes: Sequence[Box]) -> Image:
    from PIL import ImageDraw, ImageFont

    drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    unit = max(1, min(drawn.size) // 200)
    font = ImageFont.load_default(8 + 4 * unit)
    for box in reversed(boxes):  # the likeliest last, on top of the others
        top, left, bottom, right = box.place
        corners = (left * drawn.width, top * drawn.height, right * drawn.width, bottom * drawn.height)
        colour = colour_of(box.number)
        draw.rectangle(corners, outline=colour, width=2 * unit)
        for y, x in box.points:
            x, y = x * drawn.width, y * drawn.height
            draw.ellipse((x - 2 * unit, y - 2 * unit, x + 2 * unit, y + 2 * unit), fill="white", outline="black")
        text = f"{box.label} {percent(box.score)}"
        where = max(0, corners[0]), max(0, corners[1])
        draw.rectangle(draw.textbbox(where, text, font), fill=colour)
        draw.text(where, text, fill="black", font=font)
    return drawn


# Segmentation


def _say_classes(classes: Array, labels: Sequence[str] | None) -> str:
    """``bird 12 %``: what is not the background, the largest first."""
    numbers, counts = np.unique(classes, return_counts=True)
    shares = sorted(zip(counts / classes.size, numbers, strict=True), reverse=True)
    said = [f"{name_class(int(n), labels)} {percent(share)}" for share, n in shares if n and share >= LEAST_SHARE]
    return ", ".join(said) or "only background"


def draw_classes(picture: Image | None, classes: Array) -> Image:
    """Each class in its colour over the picture, or alone; the background, 0, stays as it is."""
    from PIL import Image

    palette = np.array([(0, 0, 0), *(colour_of(number) for number in range(1, 256))], np.uint8)
    masks = Image.fromarray(palette[classes.astype(np.int64) % 256])
    if picture is None:
        return masks
    opacity = Image.fromarray(np.where(classes > 0, 150, 0).astype(np.uint8))
    sizes = [each.resize(picture.size, Image.Resampling.NEAREST) for each in (masks, opacity)]
    return Image.composite(sizes[0], picture.convert("RGB"), sizes[1])


# Key points


def _say_points(people: Array) -> str:
    seen = [[POINTS[i] for i, point in enumerate(person) if point[2] >= LEAST_OF_POINTS] for person in people]
    shown = [points for points in seen if points]
    if not shown:
        return "nobody"
    return "; ".join(f"{len(points)} of {len(POINTS)} key points: {', '.join(points)}" for points in shown)


def draw_points(picture: Image, people: Array) -> Image:
    from PIL import ImageDraw

    drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    size = max(2, min(drawn.size) // 120)
    for number, person in enumerate(people, 1):
        places = [(x * drawn.width, y * drawn.height) for y, x, _ in person.tolist()]
        seen = [score >= LEAST_OF_POINTS for *_, score in person.tolist()]
        for a, b in BONES:
            if seen[a] and seen[b]:
                draw.line([places[a], places[b]], fill=colour_of(number), width=size)
        for (x, y), is_seen in zip(places, seen, strict=True):
            if is_seen:
                draw.ellipse((x - size, y - size, x + size, y + size), fill="white", outline="black")
    return drawn


# Pictures


def _as_picture(values: Array) -> Image:
    """Numbers as a picture: those of 0 to 255 as they are, others from their least to their greatest."""
    from PIL import Image

    least, greatest = float(values.min()), float(values.max())
    if least < -1 or greatest > 255 or greatest <= 1.5:
        values = (values - least) * (255 / max(greatest - least, 1e-6))
    pixels = np.clip(np.round(values), 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def _as_pixels(values: Array) -> Array:
    """Rows of pixels, each with its channels, of the first picture."""
    if values.ndim not in (2, 3, 4):
        raise ValueError
    first = values[0] if values.ndim == 4 or (values.ndim == 3 and len(values) == 1) else values
    return first if first.ndim == 3 and first.shape[-1] in GREYS_AND_COLOURS else first.reshape(*first.shape[:2], 1)


def draw_depths(depths: Array) -> Image:
    """The least dark blue, the greatest yellow, by way of green, so that it reads in grey as well."""
    from PIL import Image

    least, greatest = float(depths.min()), float(depths.max())
    shares = (depths.astype(np.float64) - least) / max(greatest - least, 1e-12)
    places, colours = np.linspace(0, 1, len(DEPTHS)), np.array(DEPTHS, np.float64)
    channels = [np.interp(shares, places, colours[:, i]) for i in range(3)]
    return Image.fromarray(np.stack(channels, -1).round().astype(np.uint8))


def colour_of(number: int) -> tuple[int, int, int]:
    """A bright colour, far from those of the numbers beside it."""
    red, green, blue = colorsys.hsv_to_rgb(number * 0.618 % 1, 0.75, 1.0)
    return int(255 * red), int(255 * green), int(255 * blue)
