"""Draw boxes, key points, masks, depths and captions on pictures."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.vision.view import Box, Picture, Point, percent

DEPTHS = ((20, 10, 80), (40, 90, 150), (40, 150, 130), (130, 200, 80), (255, 235, 60))
OPACITY = 150
LETTERS = 12
"""The least height of letters in a legend, in pixels."""


def color_of(number: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(number * 0.618 % 1, 0.75, 1.0)
    return int(255 * red), int(255 * green), int(255 * blue)


def draw_boxes(picture: Picture, boxes: Sequence[Box]) -> Picture:
    from PIL import ImageDraw, ImageFont

    drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    unit = max(1, min(drawn.size) // 200)
    font = ImageFont.load_default(8 + 4 * unit)
    for box in reversed(boxes):
        top, left, bottom, right = box.bounds
        corners = (left * drawn.width, top * drawn.height, right * drawn.width, bottom * drawn.height)
        color = color_of(box.number)
        draw.rectangle(corners, outline=color, width=2 * unit)
        for y, x in box.points:
            _draw_dot(draw, y * drawn.height, x * drawn.width, 2 * unit)
        text = f"{box.label} {percent(box.score)}"
        where = max(0, corners[0]), max(0, corners[1])
        draw.rectangle(draw.textbbox(where, text, font), fill=color)
        draw.text(where, text, fill="black", font=font)
    return drawn


def draw_people(
    picture: Picture, people: Sequence[Sequence[Point]], bones: Sequence[tuple[int, int]], least: float, dot: int = 120
) -> Picture:
    """Draw points that score at least ``least``, and bones between them; a dot is 1 / ``dot`` of the picture."""
    from PIL import ImageDraw

    drawn = picture.copy()
    draw = ImageDraw.Draw(drawn)
    size = max(2 if bones else 1, min(drawn.size) // dot)
    for number, person in enumerate(people, 1):
        positions = [(point.x * drawn.width, point.y * drawn.height) for point in person]
        for a, b in bones:
            if min(person[a].score, person[b].score) >= least:
                draw.line([positions[a], positions[b]], fill=color_of(number), width=size)
        for point, (x, y) in zip(person, positions, strict=True):
            if point.score >= least:
                _draw_dot(draw, y, x, size)
    return drawn


def _draw_dot(draw: Any, y: float, x: float, size: float) -> None:
    draw.ellipse((x - size, y - size, x + size, y + size), fill="white", outline="black")


def draw_classes(picture: Picture | None, classes: Array, background: int | None = 0) -> Picture:
    """Draw each class except the background in its color, over the picture if there is one."""
    from PIL import Image

    palette = np.array([color_of(number) for number in range(256)], np.uint8)
    if background is not None:
        palette[background] = 0
    masks = Image.fromarray(palette[classes.astype(np.int64) % 256])
    if picture is None:
        return masks
    opacity = Image.fromarray(np.where(classes != background, OPACITY, 0).astype(np.uint8))
    sizes = [each.resize(picture.size, Image.Resampling.NEAREST) for each in (masks, opacity)]
    return Image.composite(sizes[0], picture.convert("RGB"), sizes[1])


def draw_depths(depths: Array) -> Picture:
    """Draw depths from dark blue (least) to yellow (greatest); lightness increases with depth."""
    from PIL import Image

    least, greatest = float(depths.min()), float(depths.max())
    shares = (depths.astype(np.float64) - least) / max(greatest - least, 1e-12)
    steps, colors = np.linspace(0, 1, len(DEPTHS)), np.array(DEPTHS, np.float64)
    channels = [np.interp(shares, steps, colors[:, i]) for i in range(3)]
    return Image.fromarray(np.stack(channels, -1).round().astype(np.uint8))


def draw_legend(picture: Picture, entries: Sequence[tuple[int, str]]) -> Picture:
    """Draw a legend below the picture: the color of each number, and its text, in as many lines as they need."""
    from PIL import Image, ImageDraw, ImageFont

    if not entries:
        return picture
    size = max(LETTERS, picture.width // 30)
    font = ImageFont.load_default(size)
    widths = [2 * size + round(font.getlength(text)) for _, text in entries]
    width = max(picture.width, size + max(widths))
    places, x, line = [], size // 2, 0
    for each in widths:
        if x > size // 2 and x + each > width:
            x, line = size // 2, line + 1
        places.append((x, line))
        x += each
    height = round(1.4 * size)
    drawn = Image.new("RGB", (width, picture.height + height * (line + 1) + size // 2), "white")
    drawn.paste(picture.convert("RGB"))
    draw = ImageDraw.Draw(drawn)
    for (number, text), (x, line) in zip(entries, places, strict=True):
        y = picture.height + size // 4 + line * height
        draw.rectangle((x, y + size // 4, x + size, y + size // 4 + size), fill=color_of(number), outline="black")
        draw.text((x + size + size // 3, y), text, fill="black", font=font)
    return drawn


def draw_caption(picture: Picture, lines: Sequence[str]) -> Picture:
    from PIL import Image, ImageDraw, ImageFont

    size = max(12, picture.width // 24)
    font = ImageFont.load_default(size)
    height = round(1.4 * size)
    drawn = Image.new("RGB", (picture.width, picture.height + height * len(lines) + size // 2), "white")
    drawn.paste(picture.convert("RGB"))
    draw = ImageDraw.Draw(drawn)
    for number, line in enumerate(lines):
        draw.text((size // 2, picture.height + size // 4 + number * height), line, fill="black", font=font)
    return drawn
