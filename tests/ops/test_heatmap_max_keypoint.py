"""HEATMAP_MAX_KEYPOINT."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from tests.ops.detection_cases import FAMILIES, assert_close, stored
from tests.single import run_single, scalar

CODE = OperationCode.HEATMAP_MAX_KEYPOINT


def run(family: Any, heatmaps: Any, boxes: Any, nchw: bool = False) -> tuple[Any, ...]:
    """One result of scores and locations for heatmaps [box, size, size, keypoint]."""
    heatmaps = np.asarray(heatmaps, np.float64)
    if nchw:
        heatmaps = heatmaps.transpose(0, 3, 1, 2)
    types = [family.of(*heatmaps.shape), family.box(*np.shape(boxes))]
    inputs = [(type, stored(type, x)) for type, x in zip(types, (heatmaps, boxes), strict=True)]
    count, keypoints = heatmaps.shape[0], heatmaps.shape[1 if nchw else 3]
    outputs = [family.of(count, keypoints, scale=1 / 64), family.box(count, keypoints, 2)]
    return outputs, run_single(CODE, [*inputs, scalar(OperandCode.BOOL, nchw)], outputs)


def heatmap(rows: Any) -> Any:
    return np.array(rows, float)[None, ..., None]


def test_parabola_literal() -> None:
    # Along x: -0.5, 1, 0.5 has its maximum a quarter of a cell to the right, 1.0625 high; along y it is even.
    cells = heatmap([[-1.5, 0, -0.5], [-0.5, 1, 0.5], [-1.5, 0, -0.5]])
    _, (scores, locations) = run(FAMILIES["float32"], cells, [[10, 20, 16, 32]])
    np.testing.assert_allclose(scores, [[1.0625]])
    np.testing.assert_allclose(locations, [[[10 + 1.75 / 3 * 6, 20 + 1.5 / 3 * 12]]])


def test_border_is_mirrored() -> None:
    # In a corner both neighbors are the one inside: the step is zero by symmetry.
    _, (scores, locations) = run(FAMILIES["float32"], heatmap([[1, 0], [0, -1]]), [[0, 0, 8, 4]])
    assert (scores.tolist(), locations.tolist()) == ([[1]], [[[2, 1]]])


def test_flat_heatmap_keeps_the_first_cell() -> None:
    _, (scores, locations) = run(FAMILIES["float32"], heatmap(np.full((4, 4), 0.5)), [[0, 0, 4, 4]])
    assert (scores.tolist(), locations.tolist()) == ([[0.5]], [[[0.5, 0.5]]])


def test_step_is_cut_to_one_and_a_half_cells() -> None:
    # Slope 1/16 and curvature -5/8 along x and y, mixed 19/32: the maximum is 2 cells away in both.
    cells = np.full((5, 5), -0.5)
    cells[1:4, 1:4] = [[0.875, 0.625, -0.3125], [0.625, 1, 0.75], [-0.3125, 0.75, 0.875]]
    _, (scores, locations) = run(FAMILIES["float32"], heatmap(cells), [[0, 0, 5, 5]])
    np.testing.assert_allclose(scores, [[1 + 2 * 1.5 / 16 - 1.5**2 / 32]])
    np.testing.assert_allclose(locations, [[[4, 4]]])


@pytest.mark.parametrize(("kind", "moved"), [("float16", False), ("float32", True)])
def test_half_precision_calls_more_heatmaps_flat(kind: str, moved: bool) -> None:
    # The determinant of the curvature is (3/128)², about 0.00055.
    low, high = 1 - 1 / 64, 1 - 1 / 128
    cells = heatmap([[low + high - 1, low, low + high - 1], [low, 1, high], [low + high - 1, high, low + high - 1]])
    _, (_, locations) = run(FAMILIES[kind], cells, [[0, 0, 3, 3]])
    assert (locations[0, 0, 0] != 1.5) == moved


def refine(cells: Any, tolerance: float) -> tuple[Any, ...]:
    """Score and cell coordinates (x, y) of the maximum of one heatmap by a linear solver, and how near flat it was."""
    row, column = np.unravel_index(cells.argmax(), cells.shape)
    size = len(cells)

    def at(dy: Any, dx: Any) -> Any:
        y, x = (1 if i < 0 else size - 2 if i >= size else i for i in (row + dy, column + dx))
        return float(cells[y, x])

    peak = at(0, 0)
    slope = np.array([at(0, 1) - at(0, -1), at(1, 0) - at(-1, 0)]) / 2
    mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4
    curvature = np.array([[at(0, 1) + at(0, -1) - 2 * peak, mixed], [mixed, at(1, 0) + at(-1, 0) - 2 * peak]])
    determinant = np.linalg.det(curvature)
    bound = tolerance + tolerance * curvature[0, 0] * curvature[1, 1]
    margin = abs(abs(determinant) - bound)
    if abs(determinant) < bound:
        return peak, np.array([column, row], float), margin
    step = -np.linalg.solve(curvature, slope)
    step *= min(1, 1.5 / max(abs(step).max(), 1e-9))
    return peak + slope @ step + step @ curvature @ step / 2, np.array([column, row]) + step, margin


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(sorted(FAMILIES)),
    st.tuples(st.integers(1, 3), st.integers(2, 5), st.integers(1, 3)),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_every_keypoint_by_itself(kind: str, dimensions: tuple[int, ...], nchw: bool, seed: int) -> None:
    (count, size, keypoints), family, random = dimensions, FAMILIES[kind], np.random.default_rng(seed)
    heatmaps = random.integers(-16, 32, (count, size, size, keypoints)) / 32
    start = random.integers(0, 80, (count, 2)) / 8
    boxes = np.concatenate([start, start + random.integers(0, 80, (count, 2)) / 8], -1)
    scores, locations = np.zeros((count, keypoints)), np.zeros((count, keypoints, 2))
    for i, j in np.ndindex(count, keypoints):
        score, cell, margin = refine(heatmaps[i, :, :, j], 1e-3 if kind == "float16" else 1e-5)
        assume(margin > 1e-6)
        scores[i, j], locations[i, j] = score, boxes[i, :2] + (cell + 0.5) / size * (boxes[i, 2:] - boxes[i, :2])
    if family.boxes == OperandCode.TENSOR_QUANT16_ASYMM:
        locations, scores = np.maximum(locations, 0), np.clip(scores, -1, 2.98)
    types, outputs = run(family, heatmaps, boxes, nchw)
    assert_close(types[0], outputs[0], scores, family.atol)
    assert_close(types[1], outputs[1], locations, family.atol)


def test_values_are_refused_when_computing() -> None:
    family = FAMILIES["float32"]
    with pytest.raises(OpFailedError, match="heatmaps are 2 × 3 cells, must be square and at least 2 × 2"):
        run(family, np.zeros((1, 2, 3, 1)), [[0, 0, 1, 1]])
    with pytest.raises(OpFailedError, match="heatmaps are 1 × 1 cells"):
        run(family, np.zeros((1, 1, 1, 1)), [[0, 0, 1, 1]])
    with pytest.raises(OpFailedError, match=r"boxes has shape \[2, 4\], must be \[1, 4\]"):
        run(family, np.zeros((1, 2, 2, 1)), [[0, 0, 1, 1]] * 2)
    with pytest.raises(OpFailedError, match=r"boxes \[0\] is \[3.0, 0.0, 1.0, 1.0\], must not end before it starts"):
        run(family, np.zeros((1, 2, 2, 1)), [[3, 0, 1, 1]])


def test_quantized_locations_count_eighths() -> None:
    types = [tensor("uint8", (1, 2, 2, 1), 1.0), tensor("quant16_asymm", (1, 4), 0.125)]
    inputs = [*((type, np.zeros(type.shape)) for type in types), scalar(OperandCode.BOOL, False)]
    outputs = [tensor("uint8", (1, 1), 1.0), tensor("quant16_asymm", (1, 1, 2), 0.25)]
    with pytest.raises(
        OpFailedError, match=r"gives scale 0.125 and zero point 0, but the model output is declared with"
    ):
        run_single(CODE, inputs, outputs)
