"""ROI_ALIGN, ROI_POOLING and ROI_ALIGN_V2."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.ops.detection_cases import FAMILIES, assert_close, stored
from tests.single import run_single, scalar

ALIGN, POOLING = OperationCode.ROI_ALIGN, OperationCode.ROI_POOLING
FLOAT = FAMILIES["float32"]


def run(
    code: OperationCode,
    family: Any,
    feature_map: Any,
    rois: Any,
    batch_index: Any,
    *,
    out: Any = (1, 1),
    ratio: Any = (1, 1),
    samples: Any = (1, 1),
    nchw: bool = False,
    to: Any = None,
) -> Any:
    """The grids [roi, row, column, depth] of a feature map [image, row, column, depth]."""
    feature_map = np.asarray(feature_map, np.float64)
    given_map = feature_map.transpose(0, 3, 1, 2) if nchw else feature_map
    types = [family.of(*given_map.shape), family.box(*np.shape(rois)), tensor("int32", np.shape(batch_index))]
    inputs = [(type, stored(type, x)) for type, x in zip(types, (given_map, rois, batch_index), strict=True)]
    inputs += [scalar(OperandCode.INT32, value) for value in out] + [scalar(family.scalar, value) for value in ratio]
    inputs += [scalar(OperandCode.INT32, value) for value in samples] if code == ALIGN else []
    inputs.append(scalar(OperandCode.BOOL, nchw))
    shape = (len(rois), *out, feature_map.shape[3])
    result = to or family.of(*((shape[0], shape[3], *out) if nchw else shape))
    grids = run_single(code, inputs, [result])[0]
    return result, grids.transpose(0, 2, 3, 1) if nchw else grids


RAMP = np.arange(12, dtype=float).reshape(1, 3, 4, 1) / 16  # right by 1, down by 4


def test_align_literal() -> None:
    # One sample in the middle of [0.5, 0.5, 2.5, 1.5], at x = 1.5, y = 1: (5 + 6) / 2 sixteenths.
    _, grid = run(ALIGN, FLOAT, RAMP, [[0.5, 0.5, 2.5, 1.5]], [0])
    assert grid.tolist() == [[[[5.5 / 16]]]]
    # Two bins side by side, sampled at x = 1 and 2.
    _, grid = run(ALIGN, FLOAT, RAMP, [[0.5, 0.5, 2.5, 1.5]], [0], out=(1, 2))
    assert grid.tolist() == [[[[5 / 16], [6 / 16]]]]


def test_align_samples_as_many_cells_as_a_bin_touches() -> None:
    # 3 × 2 samples of the ramp over [0, 0, 3, 2]: their mean is that of the middle, (1.5, 1).
    _, grid = run(ALIGN, FLOAT, RAMP, [[0, 0, 3, 2]], [0], samples=(0, 0))
    assert grid.ravel().tolist() == [5.5 / 16]
    squares = np.square(np.arange(4.0)).reshape(1, 1, 4, 1) / 16
    _, grid = run(ALIGN, FLOAT, squares, [[0, 0, 3, 1]], [0], samples=(0, 0))  # at x = 0.5, 1.5, 2.5
    assert grid.ravel().tolist() == pytest.approx([(0.5 + 2.5 + 6.5) / 3 / 16])


def test_align_takes_a_small_region_as_one_cell() -> None:
    _, grid = run(ALIGN, FLOAT, RAMP, [[1, 1, 1, 1]], [0])  # sampled at 1.5, 1.5
    assert grid.ravel().tolist() == [7.5 / 16]


def test_align_stays_within_the_last_cell() -> None:
    _, grid = run(ALIGN, FLOAT, RAMP, [[3, 2, 4, 3]], [0])
    assert grid.ravel().tolist() == [11 / 16]


def test_ratio_of_image_to_feature_map() -> None:
    _, grid = run(ALIGN, FLOAT, RAMP, [[1, 2, 5, 6]], [0], ratio=(4, 2))
    _, same = run(ALIGN, FLOAT, RAMP, [[0.5, 0.5, 2.5, 1.5]], [0])
    assert grid.tolist() == same.tolist()


def test_pooling_literal() -> None:
    # Corners round to [1, 0, 3, 2], both ends inside: columns 1 to 3, rows 0 to 2.
    _, grid = run(POOLING, FLOAT, RAMP, [[0.5, 0.25, 2.625, 1.5]], [0])
    assert grid.ravel().tolist() == [11 / 16]
    # Bins of 1.5 × 1.5 cells: each spans two.
    _, grid = run(POOLING, FLOAT, RAMP, [[0, 0, 2, 2]], [0], out=(2, 2))
    assert (grid.ravel() * 16).tolist() == [5, 6, 9, 10]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_pooling_of_nothing_is_zero(family: Any) -> None:
    # The region starts at the end of the map: columns from 4 on do not exist.
    _, grid = run(POOLING, family, np.full((1, 3, 4, 1), -0.5), [[4, 0, 4, 1]], [0])
    assert grid.ravel().tolist() == [family.zero_point]


@pytest.mark.parametrize("code", [ALIGN, POOLING])
def test_a_value_that_is_no_number_stays_where_it_is(code: OperationCode) -> None:
    feature_map = np.full((1, 4, 4, 1), 0.5)
    feature_map[0, 3, 3] = np.nan
    with np.errstate(invalid="ignore"):
        inputs = [(tensor("float32", (1, 4, 4, 1)), feature_map.astype(np.float32))]
    inputs += [
        (tensor("float32", (2, 4)), np.array([[0, 0, 1, 1], [2, 2, 4, 4]], np.float32)),
        (tensor("int32", (2,)), [0, 0]),  # type: ignore[list-item]
    ]
    inputs += [scalar(OperandCode.INT32, 1)] * 2 + [scalar(OperandCode.FLOAT32, 1)] * 2
    inputs += [scalar(OperandCode.INT32, 0)] * 2 if code == ALIGN else []
    grid = run_single(code, [*inputs, scalar(OperandCode.BOOL, False)], [tensor("float32", (2, 1, 1, 1))])[0]
    assert grid[0, 0, 0, 0] == 0.5
    assert np.isnan(grid[1, 0, 0, 0])


def align(image: Any, roi: Any, out: Any, ratio: Any, samples: Any) -> Any:
    """The definition, sample by sample."""
    height, width, depth = image.shape
    x1, y1, x2, y2 = (edge / ratio[1 - i % 2] for i, edge in enumerate(roi))
    step = max(y2 - y1, 1) / out[0], max(x2 - x1, 1) / out[1]
    count = [given or math.ceil(size) for given, size in zip(samples, step, strict=True)]
    grid = np.zeros((*out, depth))
    for i, j in np.ndindex(*out):
        for m, n in np.ndindex(*count):
            y = min(y1 + step[0] * (i + (m + 0.5) / count[0]), height - 1)
            x = min(x1 + step[1] * (j + (n + 0.5) / count[1]), width - 1)
            for row, column in np.ndindex(height, width):
                grid[i, j] += max(0, 1 - abs(y - row)) * max(0, 1 - abs(x - column)) * image[row, column]
    return grid / math.prod(count)


def pool(image: Any, roi: Any, out: Any, ratio: Any, samples: Any) -> Any:
    height, width, depth = image.shape
    x1, y1, x2, y2 = (math.floor(edge / ratio[1 - i % 2] + 0.5) for i, edge in enumerate(roi))

    def cells(start: Any, end: Any, bins: Any, dimension: Any) -> Any:
        step = np.float32(max(end - start + 1, 1)) / np.float32(bins)
        edges = [step * np.float32(k) + np.float32(start) for k in range(bins + 1)]
        return [range(math.floor(edges[k]), min(math.ceil(edges[k + 1]), dimension)) for k in range(bins)]

    grid = np.zeros((*out, depth))
    for i, rows in enumerate(cells(y1, y2, out[0], height)):
        for j, columns in enumerate(cells(x1, x2, out[1], width)):
            bin = [image[row, column] for row in rows for column in columns]
            grid[i, j] = np.max(bin, 0) if bin else 0
    return grid


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(ALIGN, align), (POOLING, pool)]),
    st.sampled_from(sorted(FAMILIES)),
    st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 5), st.integers(1, 2)),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from([(1, 1), (2, 4), (0.5, 1)]),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_every_region_by_itself(
    definition: tuple[Any, ...],
    kind: str,
    dimensions: tuple[int, ...],
    count: int,
    out: tuple[int, ...],
    ratio: tuple[float, ...],
    samples: tuple[int, ...],
    nchw: bool,
    seed: int,
) -> None:
    (code, expected), family, random = definition, FAMILIES[kind], np.random.default_rng(seed)
    images, height, width, _ = dimensions
    feature_map = random.integers(-64, 128, dimensions) / 128
    limit = np.array([width * ratio[1], height * ratio[0]] * 2)
    corners = random.integers(0, 8 * limit + 1, (count, 4)) / 8
    rois = np.concatenate([np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])], -1)
    batch_index = random.integers(0, images, count)
    type, grids = run(code, family, feature_map, rois, batch_index, out=out, ratio=ratio, samples=samples, nchw=nchw)
    answers = [
        expected(feature_map[image], roi, out, ratio, samples) for image, roi in zip(batch_index, rois, strict=True)
    ]
    assert_close(type, grids, answers, family.atol)


def test_the_declared_scale_is_that_of_the_result() -> None:
    coarse = tensor("uint8", (1, 1, 1, 1), 1 / 32, 3)
    _, grid = run(ALIGN, FAMILIES["quant8"], RAMP, [[1, 1, 2, 2]], [0], to=coarse)
    assert grid.ravel().tolist() == [18]  # 7.5 / 16 in thirty-seconds, beside the zero point
    _, grid = run(POOLING, FAMILIES["quant8"], RAMP, [[1, 1, 2, 2]], [0], to=coarse)
    assert grid.ravel().tolist() == [23]


@pytest.mark.parametrize("code", [ALIGN, POOLING])
def test_values_are_refused_when_computing(code: OperationCode) -> None:
    for rois, batch_index, options, message in (
        ([[2, 0, 1, 1]], [0], {}, r"rois \[0\] is \[2.0, 0.0, 1.0, 1.0\], must not end before it starts"),
        ([[0, 0, 5, 1]], [0], {}, r"rois \[0\] is .*, outside of the feature map's 3 × 4 cells"),
        ([[-1, 0, 2, 1]], [0], {}, r"rois \[0\] is .*, outside of"),
        ([[0, 0, 1, 1]], [1], {}, r"batch_index holds 1, must be in \[0, 1\)"),
        ([[0, 0, 1, 1]], [0, 0], {}, r"batch_index has shape \[2\], must be \[1\]"),
        ([[0, 0, 1]], [0], {}, "rois has 3 columns, must have 4"),
        ([[0, 0, 1, 1]], [0], {"ratio": (0, 1)}, "height_ratio is 0.0, must be above 0"),
        ([[0, 0, 1, 1]], [0], {"out": (1, 0)}, "out_width is 0, must be above 0"),
    ):
        with pytest.raises(OpFailedError, match=message):
            run(code, FLOAT, RAMP, rois, batch_index, **options)  # type: ignore[arg-type]


def test_align_refuses_a_negative_number_of_samples() -> None:
    with pytest.raises(OpFailedError, match="height_samples is -1, must not be negative"):
        run(ALIGN, FLOAT, RAMP, [[0, 0, 1, 1]], [0], samples=(-1, 0))


def align_v2(
    x: Any, rois: Any, batch: Any, out: Any, scale: float, samples: int, half_pixel: bool, maximum: bool
) -> Any:
    x, rois = np.asarray(x, np.float32), np.asarray(rois, np.float32)
    inputs = [(tensor("float32", x.shape), x), (tensor("float32", rois.shape), rois)]
    inputs += [(tensor("int32", (len(rois),)), np.asarray(batch, np.int32))]
    inputs += [scalar(OperandCode.INT32, size) for size in out]
    inputs += [scalar(OperandCode.FLOAT32, scale), scalar(OperandCode.INT32, samples)]
    inputs += [scalar(OperandCode.BOOL, flag) for flag in (half_pixel, maximum)]
    result = tensor("float32", (len(rois), *out, x.shape[3]))
    return run_single(CompositeCode.ROI_ALIGN_V2, inputs, [result])[0]


def test_align_v2_literal() -> None:
    roi = [[0.5, 0.5, 2.5, 1.5]]
    assert align_v2(RAMP, roi, [0], (1, 2), 1, 1, False, False).tolist() == [[[[5 / 16], [6 / 16]]]]
    # Half a cell to the left and above: samples at x = 0.5 and 1.5, y = 0.5.
    assert align_v2(RAMP, roi, [0], (1, 2), 1, 1, True, False).tolist() == [[[[2.5 / 16], [3.5 / 16]]]]
    # The largest weighted cell: a quarter of cells 1, 2, 5 and 6, without an average.
    assert align_v2(RAMP, roi, [0], (1, 2), 1, 1, True, True).tolist() == [[[[5 / 64], [6 / 64]]]]
    # More than a cell outside the image.
    assert align_v2(RAMP, [[-9, -9, -5, -5]], [0], (1, 1), 1, 1, False, False).tolist() == [[[[0]]]]
    for end in (-np.inf, np.inf, np.nan):
        assert align_v2(RAMP, [[end] * 4], [0], (1, 1), 1, 1, True, False).tolist() == [[[[0]]]]


def weigh(image: Any, y: float, x: float) -> list[Any]:
    """The four cells around a position times their weights, by the definition of ONNX."""
    height, width, _ = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return [np.zeros(image.shape[2])] * 4
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = y - top, x - left
    rows, columns = ((top, 1 - down), (bottom, down)), ((left, 1 - across), (right, across))
    return [image[row, column] * v * u for row, v in rows for column, u in columns]


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_align_v2_beside_loops(samples: int, half_pixel: bool, maximum: bool) -> None:
    """Some regions lie partly outside, some end before they start."""
    random = np.random.default_rng(samples)
    images = random.standard_normal((2, 6, 5, 3)).astype(np.float32)
    rois, batch = (random.random((9, 4)) * 16 - 4).astype(np.float32), random.integers(0, 2, 9)
    found, scale, (rows, columns) = (
        align_v2(images, rois, batch, (2, 3), 0.5, samples, half_pixel, maximum),
        0.5,
        (2, 3),
    )
    for n, (roi, at) in enumerate(zip(rois.astype(float) * scale - half_pixel / 2, batch, strict=True)):
        size = roi[2:] - roi[:2] if half_pixel else np.maximum(roi[2:] - roi[:2], 1)
        wide, high = size / (columns, rows)
        across, down = (samples or max(math.ceil(each), 0) for each in (wide, high))
        for i in range(rows):
            for j in range(columns):
                cells = [
                    weigh(images[at], roi[1] + high * (i + (k + 0.5) / down), roi[0] + wide * (j + (m + 0.5) / across))
                    for k in range(down)
                    for m in range(across)
                ]
                whole = np.array(cells).reshape(-1, 3) if cells else np.zeros((1, 3))
                right = whole.max(0) if maximum else whole.sum(0) / max(down * across, 1)
                np.testing.assert_allclose(found[n, i, j], right, atol=2e-5)
