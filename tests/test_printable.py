"""Text from files, made safe to print."""

import pytest

from nnapi.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("conv2d/Relu", "conv2d/Relu"),
        ("größe ×2 日本 🎈 \\x1b", "größe ×2 日本 🎈 \\x1b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31mred", "\\x9b31mred"),
        ("a\rb\ac\x08d\x7f\0", "a\\rb\\x07c\\x08d\\x7f\\x00"),
        ("gpj.\u202eexe\u2066\u200f\u061c", "gpj.\\u202eexe\\u2066\\u200f\\u061c"),
        ("one\ntwo\u2028three", "one\\ntwo\\u2028three"),
    ],
)
def test_control_characters_are_shown_and_nothing_else(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_ends_of_lines_may_stay() -> None:
    assert printable("one\r\ntwo\n", keeps_lines=True) == "one\\r\ntwo\n"
