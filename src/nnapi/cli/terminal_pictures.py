"""Draw pictures in terminals: by kitty's protocol or sixels if supported, else by half blocks."""

import base64
import io
from collections.abc import Mapping
from itertools import groupby

import numpy as np

from nnapi.vision.view import Picture

KITTY = ("xterm-kitty", "xterm-ghostty")
SIXEL = ("foot", "mlterm", "yaft", "contour", "xterm-sixel")
"""Prefixes of TERM in terminals that support each protocol."""
CELL = 8
"""Assumed pixels of a terminal column."""
PIECE = 4096
"""Maximum characters in one message of kitty's protocol."""
STEPS = 6
"""Shades of a channel in sixels and in the 256 colors of older terminals."""


def draw_in_terminal(picture: Picture, width: int, variables: Mapping[str, str]) -> str:
    """Return a picture as escape sequences for the terminal that ``variables`` describe; "" if there is none."""
    term = variables.get("TERM", "")
    if term == "dumb":
        return ""
    if "TMUX" not in variables and not term.startswith("screen"):  # tmux and screen do not pass pictures through
        if "KITTY_WINDOW_ID" in variables or term.startswith(KITTY):
            return to_kitty(picture, width)
        if term.startswith(SIXEL):
            return to_sixels(picture, width * CELL)
    return to_blocks(picture, width, is_colored=variables.get("COLORTERM") in ("truecolor", "24bit"))


def to_blocks(picture: Picture, width: int, is_colored: bool = True) -> str:
    """Return lines of half blocks, each of two pixels one above the other, in 24-bit color or 256 colors."""
    height = max(2, round(picture.height * width / picture.width / 2) * 2)
    pixels = np.asarray(picture.convert("RGB").resize((width, height)))
    code = "2;{};{};{}".format if is_colored else _find_nearest
    lines = []
    for above, below in zip(pixels[::2], pixels[1::2], strict=True):
        pairs = zip(above.tolist(), below.tolist(), strict=True)
        lines.append("".join(f"\x1b[38;{code(*a)}m\x1b[48;{code(*b)}m▀" for a, b in pairs) + "\x1b[0m")
    return "\n".join(lines)


def _find_nearest(*pixel: int) -> str:
    """Return the number of the nearest of the terminal's 256 colors."""
    red, green, blue = (round(channel * (STEPS - 1) / 255) for channel in pixel)
    return f"5;{16 + 36 * red + 6 * green + blue}"


def encode_png(picture: Picture) -> str:
    """Return a PNG file in Base64."""
    stored = io.BytesIO()
    picture.save(stored, "PNG")
    return base64.b64encode(stored.getvalue()).decode()


def to_kitty(picture: Picture, width: int) -> str:
    shown = picture.convert("RGB")
    shown.thumbnail((width * CELL, 2 * width * CELL))
    text = encode_png(shown)
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    first = f"a=T,f=100,c={width},"
    return "".join(
        f"\x1b_G{'' if number else first}m={int(number + 1 < len(pieces))};{piece}\x1b\\"
        for number, piece in enumerate(pieces)
    )


def to_sixels(picture: Picture, width: int) -> str:
    """Return sixels: bands of six rows, in which each color draws its own pixels."""
    height = max(1, round(picture.height * width / picture.width))
    pixels = np.asarray(picture.convert("RGB").resize((width, height))).astype(np.int64)
    shades = (pixels * (STEPS - 1) + 127) // 255
    numbers = shades @ np.array([STEPS * STEPS, STEPS, 1])
    parts = ["\x1bPq", f'"1;1;{width};{height}']
    for number in np.unique(numbers).tolist():
        percents = (100 * int(shade) // (STEPS - 1) for shade in np.unravel_index(number, (STEPS,) * 3))
        parts.append(f"#{number};2;{';'.join(map(str, percents))}")
    for top in range(0, height, 6):
        band = numbers[top : top + 6]
        rows = (1 << np.arange(len(band)))[:, None]
        bits = {number: ((band == number) * rows).sum(0).tolist() for number in np.unique(band).tolist()}
        lines = [f"#{number}{_repeat(columns)}" for number, columns in bits.items()]
        parts.append("$".join(lines) + "-")
    return "".join(parts) + "\x1b\\"


def _repeat(bits: list[int]) -> str:
    runs = [(chr(63 + bit), len(list(run))) for bit, run in groupby(bits)]
    return "".join(f"!{count}{character}" if count > 3 else character * count for character, count in runs)
