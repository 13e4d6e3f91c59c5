"""Drawn graphs: nothing overlaps, everything is joined."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.report.graph_layout import Box, draw


def touch(a: Box, b: Box) -> bool:
    return abs(a.x - b.x) < a.width and abs(a.y - b.y) < a.height


def ends(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """First and last point of path data."""
    x = y = 0.0
    first = None
    for letter, text in re.findall(r"([MCHV])([^MCHV]*)", path):
        numbers = [float(number) for number in text.split()]
        x = numbers[-2] if letter in "MC" else numbers[0] if letter == "H" else x
        y = numbers[-1] if letter in "MCV" else y
        first = first or (x, y)
    assert first
    return first, (x, y)


@pytest.mark.slow
@given(
    st.integers(1, 14).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.lists(
                st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1]),
                max_size=25,
            )
            if count > 1
            else st.just([]),
            st.integers(1, 8),
        )
    )
)
@settings(max_examples=80, deadline=None)
def test_any_graph(case: tuple[int, list[tuple[int, int]], int]) -> None:
    count, edges, length = case
    drawing = draw(range(count), edges, length)
    assert not [pair for pair in combinations(drawing.boxes.values(), 2) if touch(*pair)]
    for box in drawing.boxes.values():
        assert 0 <= box.x <= drawing.width - box.width + 0.1
        assert 0 <= box.y <= drawing.height - box.height + 0.1
    assert set(drawing.paths) == set(edges)
    for (source, target), path in drawing.paths.items():
        upper, lower = drawing.boxes[source], drawing.boxes[target]
        begin, end = ends(path)
        assert abs(begin[0] - upper.x - upper.width / 2) < 0.11
        assert abs(begin[1] - upper.y - upper.height) < 0.11
        assert abs(end[0] - lower.x - lower.width / 2) < 0.11
        assert abs(end[1] - lower.y) < 0.11


def test_a_chain_goes_down_in_a_line() -> None:
    drawing = draw(range(4), pairwise(range(4)))
    places = list(drawing.boxes.values())
    assert len({box.x for box in places}) == 1
    assert [box.y for box in places] == sorted(box.y for box in places)


def test_a_long_chain_is_folded() -> None:
    drawing = draw(range(60), pairwise(range(60)))
    assert len({box.x for box in drawing.boxes.values()}) == 4
    assert drawing.height < 1300


def test_columns_break_where_little_crosses() -> None:
    edges = [*pairwise(range(20)), (8, 11)]  # between 8 and 11 two edges run side by side
    drawing = draw(range(20), edges, 10)
    first = [node for node, box in drawing.boxes.items() if box.x < drawing.width / 2]
    assert len(first) in (8, 12)


def test_nothing() -> None:
    assert draw([], []).boxes == {}
