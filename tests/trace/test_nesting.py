"""Spans of one thread as marks that nest."""

from collections.abc import Sequence

import pytest

from nnapi.trace.nesting import begin_and_end_marks


def draw(*intervals: tuple[float, float, str]) -> str:
    """The marks in order: ``a(`` where a begins, ``)a`` where it ends, each with its time."""
    return " ".join(
        f"{time:g}{name}(" if begins else f"{time:g}){name}" for time, name, begins in begin_and_end_marks(intervals)
    )


@pytest.mark.parametrize(
    ("intervals", "marks"),
    [
        ([(0, 9, "a"), (2, 4, "b"), (4, 6, "c")], "0a( 2b( 4)b 4c( 6)c 9)a"),
        ([(0, 5, "a"), (5, 8, "b")], "0a( 5)a 5b( 8)b"),
        ([(0, 5, "a"), (0, 3, "b")], "0a( 0b( 3)b 5)a"),
        ([(0, 5, "a"), (3, 8, "b")], "0a( 3b( 5)b 5)a"),
    ],
)
def test_marks_of_spans(intervals: Sequence[tuple[float, float, str]], marks: str) -> None:
    assert draw(*intervals) == marks


@pytest.mark.parametrize(
    ("intervals", "marks"),
    [
        ([(0, 9, "a"), (4, 4, "z"), (4, 6, "b")], "0a( 4z( 4)z 4b( 6)b 9)a"),
        ([(0, 5, "a"), (5, 5, "z")], "0a( 5z( 5)z 5)a"),
        ([(0, 5, "a"), (5, 5, "z"), (5, 8, "b")], "0a( 5z( 5)z 5)a 5b( 8)b"),
        ([(0, 5, "a"), (6, 6, "z")], "0a( 5)a 6z( 6)z"),
        ([(3, 3, "z"), (3, 3, "y"), (4, 4, "x")], "3z( 3y( 3)y 3)z 4x( 4)x"),
    ],
)
def test_a_span_without_length_belongs_to_the_one_that_ends_when_it_begins(
    intervals: Sequence[tuple[float, float, str]], marks: str
) -> None:
    assert draw(*intervals) == marks
