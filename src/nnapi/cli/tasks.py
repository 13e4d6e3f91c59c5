"""What a model is for, by the shapes of its outputs, and what it saw: words and a picture."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from nnapi.cli.outputs import output_operands, percent, real
from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.4
"""Score of a box that is shown."""
NESTED = 0.8
"""Part of a box from which on it belongs to a likelier one of its class: models find parts of a thing again, and what
they suppress themselves are boxes of about the same size."""
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
PLURALS = {"person": "people", "sheep": "sheep", "mouse": "mice", "knife": "knives", "skis": "skis"}


class Task(StrEnum):
    """What can be drawn."""

    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    POSE = "pose"
    IMAGE = "image"


@dataclass(frozen=True)
class Box:
    """Something that was found; top, left, bottom and right as parts of the picture's height and width."""

    label: str
    score: float
    place: tuple[float, float, float, float]
    number: int


@dataclass(frozen=True)
class View:
    """What was seen, in words, and the picture of it where there is one to draw on."""

    words: str
    picture: Image | None


def find_task(model: Model) -> Task | None:
    """The task of a model; None for what is none of these, classification among them."""
    shapes = [operand.type.dimensions for operand in output_operands(model)]
    if _is_detection(model, shapes):
        return Task.DETECTION
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


def view(
    task: Task, model: Model, outputs: Sequence[Array], labels: Sequence[str] | None, picture: Image | None
) -> View:
    """What a run's outputs show, drawn on the picture that went in."""
    numbers = [real(o.type, array) for o, array in zip(output_operands(model), outputs, strict=True)]
    if task is Task.DETECTION:
        boxes = find_boxes(numbers, labels)
        return View(_count(boxes), draw_boxes(picture, boxes) if picture else None)
    if task is Task.POSE:
        points = numbers[0].reshape(-1, len(POINTS), 3)
        return View(_say_points(points), draw_points(picture, points) if picture else None)
    if task is Task.SEGMENTATION:
        classes = numbers[0][0] if numbers[0].ndim == 3 else numbers[0][0].argmax(-1)
        return View(_say_classes(classes, labels), draw_classes(picture, classes))
    shown = _as_picture(numbers[0][0])
    return View(f"a picture of {shown.width}×{shown.height}", shown)


# Detection


def find_boxes(outputs: Sequence[Array], labels: Sequence[str] | None) -> list[Box]:
    """The boxes with a score of LEAST, of the first picture, one for each thing; outputs may come in either order in
    use."""
    (boxes,) = (array[0] for array in outputs if array.ndim == 3)
    (count,) = (int(array[0]) for array in outputs if array.ndim == 1)
    first, second = (array[0] for array in outputs if array.ndim == 2)
    is_class = bool((first[:count] == np.round(first[:count])).all())
    classes, scores = (first, second) if is_class else (second, first)
    found = [
        Box(name_class(int(classes[i]), labels), float(scores[i]), _place(boxes[i]), int(classes[i]))
        for i in range(count)
        if scores[i] >= LEAST
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


def colour_of(number: int) -> tuple[int, int, int]:
    """A bright colour, far from those of the numbers beside it."""
    red, green, blue = colorsys.hsv_to_rgb(number * 0.618 % 1, 0.75, 1.0)
    return int(255 * red), int(255 * green), int(255 * blue)


def to_blocks(picture: Image, width: int) -> str:
    """A picture as lines of half blocks, two pixels one above the other in each, in the codes of a terminal."""
    height = max(2, round(picture.height * width / picture.width / 2) * 2)
    pixels = np.asarray(picture.convert("RGB").resize((width, height)))
    lines = []
    for above, below in zip(pixels[::2], pixels[1::2], strict=True):
        pairs = zip(above.tolist(), below.tolist(), strict=True)
        cells = (f"\x1b[38;2;{a[0]};{a[1]};{a[2]}m\x1b[48;2;{b[0]};{b[1]};{b[2]}m▀" for a, b in pairs)
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)
