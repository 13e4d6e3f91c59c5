"""Custom operators of MediaPipe's networks, composed of NNAPI's operations. Landmark operators are of version 2."""

import math
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from nnapi.codes import FuseCode, OperationCode, PaddingCode
from nnapi.formats.tflite.schema import ARGMAX_POOLING, UNPOOLING
from nnapi.importers.graph import BOOL8, FLOAT32, INT32, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose, floor, sqrt
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.detection import Parameters
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

PADDINGS = tuple(PaddingCode)
LEAST = 1e-20
"""Lengths are clamped to at least this before they are divisors."""


class Windows(NamedTuple):
    padding: int
    stride_w: int
    stride_h: int
    width: int
    height: int
    activation: int


def read_windows(node: TfliteNode) -> Windows:
    parameters = node.operator.custom_options
    expressible(len(parameters) >= 24, f"its parameters take {len(parameters)} bytes, must be at least 24")
    found = Windows(*np.frombuffer(parameters, "<i4", 6).tolist())
    expressible(found.padding in PADDINGS, f"its padding scheme is {found.padding}, must be 1 (SAME) or 2 (VALID)")
    expressible(0 < found.width <= 16 and 0 < found.height <= 16, f"its windows are {found.width}×{found.height}")
    expressible(0 <= found.activation <= FuseCode.FUSED_RELU6, "its fused activation is none of NNAPI's")
    return found


@rule(ARGMAX_POOLING)
def max_pooling_with_argmax(node: TfliteNode) -> None:
    """Lower to ARGMAX_POOL_2D by columns, as LiteRT computes the operator by XNNPACK: of equal maxima, the first in its
    column counts. Other readers than an unpooling get the number by rows as a float, plus 0.1 for truncation."""
    w, x = read_windows(node), node.graph.real(node.input(0))
    n, height, width, c = node.static_shape_of(x)
    tiles = (height % w.height, width % w.width) == (0, 0) and (w.stride_h, w.stride_w) == (w.height, w.width)
    expressible(tiles, "its windows overlap, or reach beyond the image")
    shape, size = (n, height // w.height, width // w.width, c), node.graph.ints([w.height, w.width])
    largest = node.temporary(OperandType(FLOAT32, shape), "largest")
    positions = node.temporary(OperandType(INT32, shape), "positions")
    paddings = node.graph.ints([[0, 0], [0, 0]])
    node.emit(CompositeCode.ARGMAX_POOL_2D, x, paddings, size, size, node.flag(True), to=[largest, positions])
    activated = [None, OperationCode.RELU, OperationCode.RELU1, OperationCode.RELU6][w.activation]
    node.deliver(node.apply(activated, largest) if activated else largest)
    numbers = number_by_rows(node, positions, w)
    node.deliver(numbers, 1)
    node.graph.pooled[numbers] = positions, (w.height, w.width)


def number_by_rows(node: TfliteNode, positions: Value, w: Windows) -> Value:
    number = Term(node, node.apply(OperationCode.CAST, positions, type=OperandType(FLOAT32, positions.shape)))
    if min(w.height, w.width) > 1:
        column = floor((number + 0.5) / w.height)
        number = number * w.width - column * (w.width * w.height - 1)
    return (number + 0.1).value


@rule(UNPOOLING)
def max_unpooling(node: TfliteNode) -> None:
    w, x, given = read_windows(node), node.graph.real(node.input(0)), node.graph.real(node.input(1))
    node.static_shape_of(x)
    expressible((w.stride_h, w.stride_w) == (w.height, w.width), "its windows are not adjacent")
    size = w.height, w.width
    positions, pooled = node.graph.pooled.get(given, (given, None))
    if is_by_rows := pooled != size:
        whole = floor(Term(node, given)).value
        positions = node.apply(OperationCode.CAST, whole, shape=given.shape, type=OperandType(INT32))
    node.emit(CompositeCode.MAX_UNPOOL_2D, x, positions, node.graph.ints(size), node.flag(not is_by_rows))


class Affine(NamedTuple):
    """An affine map of the plane: factors [2, 2] and translation [2, 1]."""

    factors: Value
    added: Value


def read_affine(node: TfliteNode, i: int) -> Affine:
    matrix = node.graph.real(node.input(i))
    expressible(math.prod(node.static_shape_of(matrix)) == 16, f"its matrix is {list(matrix.shape)}, must be of 4×4")
    square = node.reshape(matrix, (4, 4))
    return Affine(node.slice(square, [0, 0], [2, 2]), node.slice(square, [0, 3], [2, 1]))


def multiply_matrices(node: TfliteNode, x: Value, y: Value, *, is_transposed: bool = False) -> Value:
    return node.apply(OperationCode.BATCH_MATMUL, x, y, node.flag(False), node.flag(is_transposed))


@rule("CUSTOM:TransformLandmarks")
def transform_landmarks(node: TfliteNode) -> None:
    points, size = node.graph.real(node.input(0)), int(Parameters(node.operator.custom_options).number("dimensions"))
    shape = node.static_shape_of(points)
    expressible(len(shape) == 3 and shape[0] == 1 and shape[2] == size in (2, 3), f"its landmarks are {list(shape)}")
    affine, rows = read_affine(node, 1), node.reshape(points, shape[1:])
    flat = node.slice(rows, [0, 0], [shape[1], 2])
    moved = multiply_matrices(node, flat, affine.factors, is_transposed=True)
    moved = (Term(node, moved) + Term(node, node.reshape(affine.added, (1, 2)))).value
    if size == 3:
        moved = node.concatenate([moved, node.slice(rows, [0, 2], [shape[1], 1])], 1)
    node.deliver(node.reshape(moved, shape))


@rule("CUSTOM:TransformTensorBilinear")
def transform_bilinear(node: TfliteNode) -> None:
    parameters, image = Parameters(node.operator.custom_options), node.graph.real(node.input(0))
    out = (int(parameters.number("output_height")), int(parameters.number("output_width")))
    n, height, width, c = node.static_shape_of(image)
    expressible(
        n == 1 and min(out) > 0,
        f"it transforms {list(image.shape)} to {list(out)}, must be one image to a positive size",
    )
    count = math.prod(out)
    node.graph.reserve(8 * count)
    grid = np.stack(np.meshgrid(np.arange(out[1]), np.arange(out[0]))).reshape(2, count).astype(np.float32) + 0.5
    affine = read_affine(node, 1)
    there = multiply_matrices(node, affine.factors, node.graph.constant(grid))
    shift = Term(node, affine.added) + -0.5
    positions = (Term(node, each) for each in node.split((Term(node, there) + shift).value, 0, 2))
    x, y = (Side(each, length) for each, length in zip(positions, (width, height), strict=True))
    pixels, parts = node.reshape(image, (height * width, c)), []
    for row, row_weight in ((y.before, y.rest), (y.behind, y.over)):
        for column, column_weight in ((x.before, x.rest), (x.behind, x.over)):
            index = node.reshape((row * width + column).value, (count,))
            whole = node.apply(OperationCode.CAST, index, shape=(count,), type=OperandType(INT32))
            weight = Term(node, node.reshape((row_weight * column_weight).value, (count, 1)))
            parts.append(Term(node, node.pick_rows(pixels, whole)) * weight)
    node.deliver(node.reshape(reduce(add, parts).value, (1, *out, c)))


class Side:
    """Positions along an axis: the pixels before and behind them, and their weights, 0 beyond the image."""

    def __init__(self, position: Term, length: int) -> None:
        low = floor(position)
        self.before, self.behind = (
            each.apply(OperationCode.MAXIMUM, 0).apply(OperationCode.MINIMUM, length - 1) for each in (low, low + 1)
        )
        begins, ends = (
            position.compare(OperationCode.GREATER_EQUAL, 0),
            position.compare(OperationCode.LESS_EQUAL, length - 1),
        )
        is_inside = begins.apply(OperationCode.LOGICAL_AND, ends, type=OperandType(BOOL8))
        over = position - low
        self.over, self.rest = (choose(is_inside, share, over.beside(0)) for share in (over, 1 - over))


class Turn(NamedTuple):
    """A rotation: the cosine and sine of its angle, each [1, 1]."""

    cos: Term
    sin: Term


def read_turn(node: TfliteNode, left: Value, right: Value, target: float) -> Turn:
    """Return the rotation that turns the line from ``left`` to ``right`` to the angle ``target``, in radians."""
    along, up = (Term(node, each) for each in node.split((Term(node, right) - Term(node, left)).value, 1, 2))
    length = sqrt(along * along + up * up).apply(OperationCode.MAXIMUM, LEAST)
    cos, sin = along / length, up / length
    return Turn(cos * math.cos(target) + sin * math.sin(target), cos * math.sin(target) + sin * -math.cos(target))


def read_box(node: TfliteNode, points: Value, turn: Turn) -> tuple[list[Term], list[Term]]:
    """Return the rotated points' bounding box: its width and height, and its center rotated back."""
    rows = ((turn.cos, turn.sin * -1), (turn.sin, turn.cos))
    rotation = node.concatenate([node.concatenate([each.value for each in row], 1) for row in rows], 0)
    upright = multiply_matrices(node, points, rotation, is_transposed=True)
    low, high = (
        Term(node, node.apply(code, upright, node.graph.ints([0]), node.flag(True)))
        for code in (OperationCode.REDUCE_MIN, OperationCode.REDUCE_MAX)
    )
    middle, size = (low + high) * 0.5, high - low
    center = multiply_matrices(node, middle.value, rotation)
    extent, position = ([Term(node, each) for each in node.split(pair, 1, 2)] for pair in (size.value, center))
    return extent, position


@rule("CUSTOM:Landmarks2TransformMatrix")
def landmarks_to_matrix(node: TfliteNode) -> None:
    """Return the matrix that maps pixels of an upright crop around landmarks to pixels of the image."""
    parameters, points = Parameters(node.operator.custom_options), node.graph.real(node.input(0))
    number, shape = parameters.number, node.static_shape_of(points)
    expressible(len(shape) == 3 and shape[0] == 1 and shape[2] == 3, f"its landmarks are {list(shape)}")
    ends, subset = (
        [int(number(f"{side}_rotation_idx")) for side in ("left", "right")],
        parameters.indices("subset_idxs"),
    )
    expressible(max(*ends, *subset) < shape[1] and min(ends) >= 0, f"it asks for landmarks beyond {shape[1]}")
    height, width = (int(number(f"output_{side}")) for side in ("height", "width"))
    expressible(min(height, width) > 0, f"it makes {height}×{width} pixels")
    flat = node.slice(node.reshape(points, shape[1:]), [0, 0], [shape[1], 2])
    left, right = (node.slice(flat, [each, 0], [1, 2]) for each in ends)
    turn = read_turn(node, left, right, float(number("target_rotation_radians")))
    chosen = node.pick_rows(flat, np.array(subset))
    (wide, tall), middle = read_box(node, chosen, turn)
    across, down = wide * (number("scale_x") / width), tall * (number("scale_y") / height)
    rows = ((turn.cos * across, turn.sin * down), (turn.sin * across * -1, turn.cos * down))
    numbers = []
    for (first, second), position in zip(rows, middle, strict=True):
        offset = position + (first * (-width / 2) + second * (-height / 2))
        numbers += [first.value, second.value, node.graph.full(first.value.type), offset.value]
    numbers.append(node.graph.constant(np.array([[0, 0, 1, 0, 0, 0, 0, 1]], np.float32)))
    node.deliver(node.reshape(node.concatenate(numbers, 1), (1, 4, 4)))
