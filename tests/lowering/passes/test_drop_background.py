"""Scores of TFLite's suppression without a column for the background."""

import pytest

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.schema import DETECTION
from nnapi.lowering.passes.drop_background import drop_background


def make(paddings: list[list[int]], reads_padded: bool = False) -> Graph:
    """A suppression of padded scores; ``reads_padded`` makes the padded scores an output too."""
    deltas, scores, anchors = Tensor("f32", (1, 6, 4)), Tensor("f32", (1, 6, 2)), Tensor("f32", (6, 4))
    padded, result = Tensor("f32", (1, 6, 3)), Tensor("f32", (1, 3, 4))
    operators = [
        Operator("PAD", [scores, constant(paddings)], [padded]),
        Operator(DETECTION, [deltas, padded, anchors], [result], {"content": b""}),
    ]
    return Graph(operators, [deltas, scores, anchors], [result, *([padded] if reads_padded else [])])


def test_an_added_background_is_dropped() -> None:
    graph = drop_background(make([[0, 0], [0, 0], [1, 0]]))
    (operator,) = graph.operators
    assert operator.inputs == graph.inputs


def test_other_readers_keep_the_padded_scores() -> None:
    graph = drop_background(make([[0, 0], [0, 0], [1, 0]], reads_padded=True))
    assert [operator.kind for operator in graph.operators] == ["PAD", DETECTION]
    assert graph.operators[1].inputs == graph.inputs


@pytest.mark.parametrize("paddings", [[[0, 0], [0, 0], [0, 1]], [[0, 0], [1, 0], [0, 0]]])
def test_other_paddings_stay(paddings: list[list[int]]) -> None:
    whole = make(paddings)
    assert drop_background(whole).operators == whole.operators
