"""Events in a recording: sequences of windows with the same class."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nnapi.model.operand import Array
from nnapi.vision.view import Picture, View, name_class

LEAST = 0.3
"""A window belongs to each class with at least this score."""
MOST = 8
ROW, LABEL, AXIS = 22, 150, 20
"""Pixels: height of a class's row, width of the names, height of the time axis."""
WIDTH = 640


def view_events(
    shares: Array, step: float, length: float, labels: Sequence[str] | None, least: float | None = None
) -> View:
    """Return the events in words, as a picture and as data; ``shares`` is (windows, classes), times in seconds."""
    names = [name_class(number, labels) for number in range(shares.shape[1])]
    events = find_events(shares, step, length, names, LEAST if least is None else least)
    data = [{"index": e.number, "label": e.name, "from": e.start, "to": e.end, "share": e.share} for e in events]
    return View(describe_events(events), draw_events(shares, step, length, names), {"events": data})


class SoundEvent(NamedTuple):
    """A class heard from ``start`` to ``end``, in seconds; ``share`` is its greatest score in these windows."""

    number: int
    name: str
    start: float
    end: float
    share: float


def find_events(shares: Array, step: float, length: float, names: Sequence[str], least: float) -> list[SoundEvent]:
    """Join adjacent windows whose score for a class is at least ``least``; ``shares`` is (windows, classes)."""
    found = []
    for number in np.flatnonzero(shares.max(0) >= least).tolist():
        heard = np.concatenate([[False], shares[:, number] >= least, [False]])
        changes = np.flatnonzero(heard[1:] != heard[:-1]).tolist()
        for first, after in zip(changes[::2], changes[1::2], strict=True):
            share = float(shares[first:after, number].max())
            found.append(SoundEvent(number, names[number], first * step, (after - 1) * step + length, share))
    return sorted(found, key=lambda event: (event.start, -event.share))


def describe_events(events: Sequence[SoundEvent]) -> str:
    """Return text such as ``dog 0.0–1.5 s, cat 2.0–3.0 s``."""
    return ", ".join(f"{event.name} {event.start:.1f}–{event.end:.1f} s" for event in events) or "nothing"


def draw_events(shares: Array, step: float, length: float, names: Sequence[str]) -> Picture:
    """Draw a row over time for each of the strongest classes; darker means likelier. ``names`` covers all classes."""
    from PIL import Image, ImageDraw, ImageFont

    strongest = np.argsort(-shares.max(0), kind="stable")[:MOST].tolist()
    total = (len(shares) - 1) * step + length
    drawn = Image.new("RGB", (LABEL + WIDTH + 10, ROW * len(strongest) + AXIS), "white")
    draw, font = ImageDraw.Draw(drawn), ImageFont.load_default(13)
    for row, number in enumerate(strongest):
        top = ROW * row
        draw.text((4, top + 3), _shorten(names[number], font), fill="black", font=font)
        for window, share in enumerate(shares[:, number].tolist()):
            left = LABEL + WIDTH * window * step / total
            right = LABEL + WIDTH * ((window + 1) * step if window + 1 < len(shares) else total) / total
            light = round(255 * (1 - min(max(share, 0), 1)))
            draw.rectangle((left, top + 2, right, top + ROW - 2), fill=(light, light, 255))
    for part in range(5):
        x = LABEL + WIDTH * part / 4
        draw.line((x, 0, x, ROW * len(strongest)), fill=(210, 210, 210))
        draw.text((x, ROW * len(strongest) + 2), f"{total * part / 4:.1f} s", fill="black", font=font, anchor="ma")
    return drawn


def _shorten(name: str, font: object) -> str:
    while font.getlength(name) > LABEL - 8:  # type: ignore[attr-defined]  # Pillow has no common type for its two kinds of fonts
        name = name.removesuffix("…")[:-1] + "…"
    return name
