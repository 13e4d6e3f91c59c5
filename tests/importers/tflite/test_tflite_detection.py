"""Suppression of overlapping boxes by indices, against LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.tflite.against_litert import Case, agree, case, litert, loaded, run
from tests.tflite_writer import T, const, f32, i32


def suppress(limit: int, overlap: float, least: float, *sigma: float) -> Case:
    kind = "NON_MAX_SUPPRESSION_V5" if sigma else "NON_MAX_SUPPRESSION_V4"
    outputs = [i32(limit), *(f32(limit) for _ in sigma), i32()]
    numbers = [const(number, "FLOAT32") for number in (overlap, least, *sigma)]
    return case(kind, [f32(40, 4), f32(40), const(limit), *numbers], outputs)


def draw(seed: int) -> list[Any]:
    """Boxes with any two opposite corners, some the same and some half of another. LiteRT has no order for equal
    scores, and repeats boxes without area."""
    random = np.random.default_rng(seed)
    boxes = random.random((40, 4)).astype(np.float32)
    boxes[10:20] = boxes[:10]
    boxes[20:25], boxes[25:30] = [0, 0, 1, 1], [0, 0, 0.5, 1]
    return [boxes, (random.permutation(40) / 40).astype(np.float32)]


@pytest.mark.parametrize(
    "given", [(10, 0.5, 0.0), (40, 0.2, 0.3), (5, 1.0, 0.95), (40, 0.0, -1.0), (10, 0.5, 0.0, 0.0), (7, 0.3, 2.0, 0.0)]
)
def test_indices_scores_and_number(given: tuple[Any, ...], tmp_path: Path) -> None:
    one = suppress(*given)
    model = loaded(one.content(), tmp_path)
    for seed in range(3):
        arrays = draw(seed)
        agree(run(model, arrays), litert(one.content(), arrays), one)


def test_boxes_that_follow_are_gathered(tmp_path: Path) -> None:
    from tests.tflite_writer import Graph, write

    boxes, scores, indices, count = f32(40, 4), f32(40), i32(6), T("INT32")
    chosen, graph = f32(6, 4), Graph()
    numbers = [const(6), const(0.5, "FLOAT32"), const(0.1, "FLOAT32")]
    graph.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, *numbers], [indices, count])
    graph.operator("GATHER", [boxes, indices], [chosen], "GatherOptions")
    content = write(graph.between([boxes, scores], [chosen, count]))
    arrays = draw(5)
    for ours, theirs in zip(run(loaded(content, tmp_path), arrays), litert(content, arrays), strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))
