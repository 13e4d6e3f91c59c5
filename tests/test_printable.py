"""Text from files, made safe to print."""

import pytest

from nnapi.printable import format_bytes, pluralize, printable, with_article


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


def test_articles() -> None:
    assert [with_article(noun) for noun in ("hand", "eye")] == ["a hand", "an eye"]


def test_plurals() -> None:
    assert [pluralize(number, "input") for number in (0, 1, 2)] == ["0 inputs", "1 input", "2 inputs"]
    assert [pluralize(2, noun) for noun in ("bus", "entry")] == ["2 buses", "2 entries"]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (999_600, "1 MB"),
        (2652542, "2.65 MB"),
        (12803952, "12.8 MB"),
        (4e12, "4e+03 GB"),
    ],
)
def test_bytes(count: float, words: str) -> None:
    assert format_bytes(count) == words
