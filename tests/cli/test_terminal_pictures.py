"""Pictures in the codes of terminals, read back."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from nnapi.cli.terminal_pictures import draw_in_terminal, to_blocks, to_kitty, to_sixels

PICTURE = Image.fromarray(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8).repeat(2, 1))


def test_half_blocks() -> None:
    cell = "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀"
    assert to_blocks(PICTURE, 2) == f"{cell}{cell}\x1b[0m"
    cell = "\x1b[38;5;196m\x1b[48;5;21m▀"
    assert to_blocks(PICTURE, 2, is_colored=False) == f"{cell}{cell}\x1b[0m"


def test_kitty() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    text = to_kitty(Image.fromarray(pixels), 8)
    pieces = re.findall("\x1b_G(.*?);(.*?)\x1b\\\\", text)
    assert "".join(f"\x1b_G{head};{body}\x1b\\" for head, body in pieces) == text
    assert pieces[0][0] == "a=T,f=100,c=8,m=1"
    assert [head for head, _ in pieces[1:]] == ["m=1"] * (len(pieces) - 2) + ["m=0"]
    with Image.open(io.BytesIO(base64.b64decode("".join(body for _, body in pieces)))) as shown:
        assert (np.asarray(shown) == pixels).all()


def test_sixels() -> None:
    """Two bands: red over blue, then what is left of it."""
    pixels = np.zeros((8, 5, 3), np.uint8)
    pixels[:3, :, 0], pixels[3:, :, 2] = 255, 255
    text = to_sixels(Image.fromarray(pixels), 5)
    assert text == '\x1bPq"1;1;5;8#5;2;0;0;100#180;2;100;0;0#5!5w$#180!5F-#5!5B-\x1b\\'


@pytest.mark.parametrize(
    ("variables", "start"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b_G"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "\x1b_G"),
        ({"TERM": "foot"}, "\x1bPq"),
        ({"TERM": "xterm-256color"}, "\x1b[38;5;"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "\x1b[38;2;"),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "KITTY_WINDOW_ID": "1"}, "\x1b[38;5;"),
    ],
)
def test_which_codes_a_terminal_gets(variables: dict[str, str], start: str) -> None:
    assert draw_in_terminal(PICTURE, 2, variables).startswith(start)


def test_a_terminal_without_any() -> None:
    assert draw_in_terminal(PICTURE, 2, {"TERM": "dumb"}) == ""
