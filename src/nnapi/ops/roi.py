"""Reduce the features of a region of interest to a grid of fixed size, by averages or maxima.

ROI_ALIGN: regions of an image resized to one size by averages of interpolated samples.
ROI_POOLING: regions of an image resized to one size by maxima.
ROI_ALIGN_V2: as ROI_ALIGN, by averages or maxima; regions may lie partly or wholly outside the image.
"""

from itertools import product
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Layout, Quantization, Scalar, Slot, Tensor, not_negative, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.boxes import BESIDE, check_eighths, check_images, check_upright, int_scalar
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT_SCALAR, INT32, floats, reals


def _declare(
    code: OperationCode, facts: Facts, *samples: Slot, quant: Quantization = None, zero_sized: bool = False
) -> Operation:
    operation = Operation(
        code,
        facts=facts,
        inputs=(
            Tensor("feature_map", reals(3), rank=4, late_rank=True, image=True),
            Tensor("rois", like="feature_map", via=BESIDE, rank=2, late_rank=True, since=3),
            Tensor("batch_index", INT32, rank=1, late_rank=True, since=3),
            int_scalar("out_height", check=positive),
            int_scalar("out_width", check=positive),
            Scalar("height_ratio", like="feature_map", via=FLOAT_SCALAR, since=3, check=positive),
            Scalar("width_ratio", like="feature_map", via=FLOAT_SCALAR, since=3, check=positive),
            *samples,
            Layout(default=REQUIRED),
        ),
        outputs=(Tensor("out", like="feature_map", image=True, quant=quant, since=3),),
        zero_sized=zero_sized,
    )

    @operation.shape
    def infer_shape(
        feature_map: OperandType,
        rois: OperandType,
        batch_index: OperandType,
        out_height: int,
        out_width: int,
        **numbers: float,
    ) -> Shape:
        need(rois.shape[1] == 4, f"rois has {rois.shape[1]} columns, must have 4")
        need_shape("batch_index", batch_index, rois.shape[:1])
        check_eighths(rois=rois)
        return rois.shape[0], out_height, out_width, feature_map.shape[3]

    return operation


ROI_ALIGN = _declare(
    OperationCode.ROI_ALIGN,
    Facts(traits=Trait.ORDERS),
    int_scalar("height_samples", check=not_negative),
    int_scalar("width_samples", check=not_negative),
    zero_sized=True,
)
ROI_POOLING = _declare(OperationCode.ROI_POOLING, Facts(traits=Trait.CHOOSES | Trait.ORDERS), quant="feature_map")

ROI_ALIGN_V2 = Operation(
    CompositeCode.ROI_ALIGN_V2,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("feature_map", floats(3), rank=4, late_rank=True),
        Tensor("rois", like="feature_map", rank=2, late_rank=True, since=3),
        Tensor("batch_index", INT32, rank=1, late_rank=True),
        int_scalar("out_height", check=positive),
        int_scalar("out_width", check=positive),
        Scalar("spatial_scale", OperandCode.FLOAT32, since=3, check=positive),
        int_scalar("samples", check=not_negative),
        Scalar("half_pixel", OperandCode.BOOL, since=3),
        Scalar("maximum", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="feature_map", since=3),),
    zero_sized=True,
)


@ROI_ALIGN_V2.shape
def infer_align_shape(
    feature_map: OperandType, rois: OperandType, batch_index: OperandType, out_height: int, out_width: int, **rest: Any
) -> Shape:
    need(rois.shape[1] == 4, f"rois has {rois.shape[1]} columns, must have 4")
    need_shape("batch_index", batch_index, rois.shape[:1])
    return rois.shape[0], out_height, out_width, feature_map.shape[3]


@ROI_ALIGN.kernel(scaled=("feature_map",))
def roi_align(
    feature_map: Array,
    rois: Array,
    batch_index: Array,
    out_height: int,
    out_width: int,
    height_samples: int,
    width_samples: int,
    **ratios: float,
) -> Array:
    image, corners = _locate(feature_map, rois, batch_index, **ratios)
    rows, row_counts = _sample(corners[:, 1], corners[:, 3], out_height, height_samples)
    columns, column_counts = _sample(corners[:, 0], corners[:, 2], out_width, width_samples)
    total = np.zeros((len(rois), out_height, out_width, feature_map.shape[3]), feature_map.dtype)
    for i, j in product(range(rows.shape[2]), range(columns.shape[2])):
        sample = _interpolate(feature_map, image, rows[:, :, i], columns[:, :, j])
        has_sample = (i < row_counts) & (j < column_counts)
        total += np.where(has_sample[:, None, None, None], sample, 0)
    return total / (row_counts * column_counts)[:, None, None, None]


@ROI_POOLING.kernel(scaled=("feature_map",))
def roi_pooling(
    feature_map: Array, rois: Array, batch_index: Array, out_height: int, out_width: int, **ratios: float
) -> Array:
    image, corners = _locate(feature_map, rois, batch_index, **ratios)
    corners = np.floor(corners.astype(np.float64) + 0.5).astype(np.float32)
    _, height, width, _ = feature_map.shape
    top, bottom = _bins(corners[:, 1], corners[:, 3], out_height, height)
    left, right = _bins(corners[:, 0], corners[:, 2], out_width, width)
    most = np.full((len(rois), out_height, out_width, feature_map.shape[3]), -np.inf, feature_map.dtype)
    for i, j in product(range((bottom - top).max(initial=0)), range((right - left).max(initial=0))):
        row, column = np.clip(bottom - 1, 0, top + i), np.clip(right - 1, 0, left + j)
        most = np.maximum(most, feature_map[image[:, None, None], row[:, :, None], column[:, None, :]])
    empty = (bottom <= top)[:, :, None] | (right <= left)[:, None, :]
    return np.where(empty[..., None], 0, most)


@ROI_ALIGN_V2.kernel(kind="raw")
def roi_align_v2(
    feature_map: Array,
    rois: Array,
    batch_index: Array,
    out_height: int,
    out_width: int,
    spatial_scale: float,
    samples: int,
    half_pixel: bool,
    maximum: bool,
) -> Array:
    """Without ``half_pixel``, regions are at least one cell wide and high. A maximum is that of the weighted cells
    around all samples. A sample that lies more than a cell outside the image, or has no position, is 0."""
    image = check_images(batch_index, len(feature_map))
    corners = rois.astype(np.float32) * np.float32(spatial_scale) - np.float32(half_pixel / 2)
    least = -np.inf if half_pixel else 1
    rows, row_counts = _sample(corners[:, 1], corners[:, 3], out_height, samples, least)
    columns, column_counts = _sample(corners[:, 0], corners[:, 2], out_width, samples, least)
    empty = (row_counts == 0) | (column_counts == 0)
    total = np.full((len(rois), out_height, out_width, feature_map.shape[3]), -np.inf if maximum else 0, np.float32)
    for i, j in product(range(rows.shape[2]), range(columns.shape[2])):
        weighted = _weigh(feature_map, image, rows[:, :, i], columns[:, :, j])
        found = np.maximum(total, np.max(weighted, 0)) if maximum else total + sum(weighted)
        has_sample = (i < row_counts) & (j < column_counts)
        total = np.where(has_sample[:, None, None, None], found, total)
    total[empty] = 0
    counts = 1 if maximum else np.maximum(row_counts * column_counts, 1)[:, None, None, None]
    return (total / counts).astype(feature_map.dtype)


def _weigh(feature_map: Array, image: Array, rows: Array, columns: Array) -> list[Array]:
    """Return the four cells around each position, [region, row, column, depth], times their bilinear weights."""
    _, height, width, _ = feature_map.shape
    inside = ((rows >= -1) & (rows <= height))[:, :, None] & ((columns >= -1) & (columns <= width))[:, None]
    (y0, y1, dy), (x0, x1, dx) = (
        _between(np.fmin(np.fmax(at, 0), size), size) for at, size in ((rows, height), (columns, width))
    )
    return [
        feature_map[image[:, None, None], y[:, :, None], x[:, None]] * (v[:, :, None] * u[:, None] * inside)[..., None]
        for (y, v), (x, u) in product(((y0, 1 - dy), (y1, dy)), ((x0, 1 - dx), (x1, dx)))
    ]


def _locate(
    feature_map: Array, rois: Array, batch_index: Array, height_ratio: float, width_ratio: float
) -> tuple[Array, Array]:
    """Return the image and corners of every region, in cells of the feature map; OpFailedError if one is outside."""
    images, height, width, _ = feature_map.shape
    check_upright("rois", rois)
    corners = rois / np.array([width_ratio, height_ratio] * 2, np.float32)
    outside = ((corners < 0) | (corners > np.array([width, height] * 2, np.float32))).any(-1)
    if outside.any():
        first = int(outside.argmax())
        need(False, f"rois [{first}] is {rois[first].tolist()}, outside of the feature map's {height} × {width} cells")
    return check_images(batch_index, images), corners


def _sample(start: Array, end: Array, bins: int, samples: int, least: float = 1) -> tuple[Array, Array]:
    """Return the sample positions of each bin along one axis, [region, bin, sample], and their counts, [region].

    A region has at least ``least`` cells. If ``samples`` is 0, a bin has one sample per cell. Positions beyond a
    region's count are undefined.
    """
    step = np.maximum(end - start, np.float32(least)) / np.float32(bins)
    counts = np.full(len(step), samples) if samples else np.maximum(np.ceil(step), 0).astype(np.intp)
    pitch = (step / np.maximum(counts, 1).astype(np.float32))[:, None, None]
    first = step[:, None, None] * np.arange(bins, dtype=np.float32)[:, None] + start[:, None, None]
    return first + pitch / 2 + pitch * np.arange(counts.max(initial=0), dtype=np.float32), counts


def _interpolate(feature_map: Array, image: Array, rows: Array, columns: Array) -> Array:
    """Return bilinear samples [region, row, column, depth] at positions [region, row] and [region, column]."""
    (y0, y1, dy), (x0, x1, dx) = (_between(rows, feature_map.shape[1]), _between(columns, feature_map.shape[2]))
    image, dy, dx = image[:, None, None], dy[:, :, None, None], dx[:, None, :, None]
    y0, y1, x0, x1 = y0[:, :, None], y1[:, :, None], x0[:, None, :], x1[:, None, :]
    above = feature_map[image, y0, x0] * (1 - dx) + feature_map[image, y0, x1] * dx
    below = feature_map[image, y1, x0] * (1 - dx) + feature_map[image, y1, x1] * dx
    return above * (1 - dy) + below * dy


def _between(position: Array, dimension: int) -> tuple[Array, Array, Array]:
    """Return the two cells around a position and its distance from the first, within the image."""
    position = np.minimum(position, dimension - 1)
    low = np.floor(position).astype(np.intp)
    return low, np.minimum(low + 1, dimension - 1), position - low.astype(position.dtype)


def _bins(start: Array, end: Array, bins: int, dimension: int) -> tuple[Array, Array]:
    """Return the first cell of each bin and the cell after its last one, [region, bin], clipped to the image."""
    step = (np.maximum(end - start + 1, 1) / np.float32(bins))[:, None]
    number = np.arange(bins + 1, dtype=np.float32)
    edge = step * number + start[:, None]
    first, last = np.floor(edge[:, :-1]), np.ceil(edge[:, 1:])
    return np.minimum(first, dimension).astype(np.intp), np.minimum(last, dimension).astype(np.intp)


@ROI_ALIGN.proposal
@ROI_POOLING.proposal
def propose_roi(draw: Draw) -> Proposal:
    proposal, dimensions = draw.proposal, {"n": draw.pick(1, 2), "h": draw.dimension(17), "w": draw.dimension(17)}
    image = draw.image("feature_map", c=draw.dimension(8), **dimensions)
    count = draw.dimension(8)
    proposal.shapes |= {"rois": (count, 4), "batch_index": (count,)}
    proposal.numbers["batch_index"] = sorted(draw.upto(image[0] - 1) for _ in range(count))
    proposal.scalars |= {name: draw.pick(1, 2, 3, 7) for name in ("out_height", "out_width")}
    proposal.scalars |= {name: draw.pick(1.0, 2.0, 0.5, 0.1) for name in ("height_ratio", "width_ratio")}
    return proposal


@ROI_ALIGN_V2.proposal
def propose_any_regions(draw: Draw) -> Proposal:
    images, count = draw.pick(1, 2), draw.dimension(8)
    shapes: dict[str, Shape] = {"feature_map": (images, draw.dimension(17), draw.dimension(17), draw.dimension(8))}
    shapes |= {"rois": (count, 4), "batch_index": (count,)}
    scalars: dict[str, Any] = {name: draw.pick(1, 2, 3, 7) for name in ("out_height", "out_width")}
    scalars |= {"spatial_scale": draw.pick(1.0, 2.0, 0.5, 0.1), "samples": draw.pick(0, 1, 2)}
    return Proposal(shapes, scalars, {"batch_index": [draw.upto(images - 1) for _ in range(count)]})
