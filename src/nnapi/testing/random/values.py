"""Draw scalars, tensors and dimensions from one small pool per attempt, so that operands fit each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.model.operand import DTYPES, ZERO_POINTS, Array, Shape
from nnapi.model.parameter import ActivationParameter, Parameter, ScalarParameter, TensorParameter, ValuesParameter
from nnapi.testing.example import OperandSpec

T = TypeVar("T")

SCALES = (1 / 128, 1 / 256, 1 / 2048, 0.25, 0.5, 1.0, 2.0)
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 30.0
"""The range of random scales. If it were wider, most results would saturate."""
EQUAL = 0.2
"""Probability that all elements of a tensor are equal; engines fold such constants."""
REPEATED, FEW = 0.12, 3
"""Probability that the elements of a tensor have few values, and their number: sorting and maxima then have ties."""
HIGH = 0.1
"""Probability that tensors have ranks beyond NNAPI's."""
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3.4e38, -3.4e38, 1e30, -1e30, 1.2e-38)
"""Values with special arithmetic; some become infinite or 0 in float16."""
TIES = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, 6.0, -3.0, 3.0)
"""Values at which functions have a kink, or rounding is a tie."""
INTEGERS = (0, 0, 1, 1, 1, 2, 2, 3, 4, -1, -2, 6, 8)
REALS = (0.0, 0.1, 0.5, 1.0, 1.0, 2.0, 3.5, -1.0)
CUSTOMARY = {OperandCode.TENSOR_QUANT16_SYMM: (1 / 2048, 0), OperandCode.TENSOR_QUANT16_ASYMM: (1 / 8, 0)}
"""Scale and zero point that operations with 16-bit values require: states of recurrent cells, corners of boxes."""
COLUMNS = {"rois": 4, "anchors": 4, "image_info": 2}
"""Last dimension of the tensors with these names."""
BOXES = frozenset({"rois", "boxes", "anchors"})
"""Tensors that hold corners x1, y1, x2, y2."""
TRIES = 100


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    return choices[int(rng.integers(len(choices)))]


@dataclass(frozen=True)
class Ranges:
    """The ranges and probabilities of one attempt; Draw describes the last five."""

    dimensions: tuple[int, ...]
    rank: int
    scales: tuple[float, ...]
    omission: float
    constants: float
    integers: tuple[int, int]
    floats: tuple[float, float]
    central: bool
    uniform: float = 0.0
    special: float = 0.0
    given: Shape | None = None
    points: float = 0.2
    nchw: float = 0.4
    spatial: float = 0.5
    is_high: bool = False

    def quantization(self, code: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return fields ``scale`` and ``zero_point`` for an operand type; {} if the type has none."""
        if code not in ZERO_POINTS:
            return {}
        if code in CUSTOMARY and rng.random() < 0.8:
            scale, zero_point = CUSTOMARY[OperandCode(code)]
            return {"scale": scale, "zero_point": zero_point}
        low, high = ZERO_POINTS[code]
        middle = (low + high + 1) // 2
        zero_point = middle if self.central else pick(rng, (low, high, middle, int(rng.integers(low, high + 1))))
        return {"scale": pick(rng, self.scales), "zero_point": zero_point}


def draw_ranges(rng: np.random.Generator) -> Ranges:
    dimensions = tuple(int(dimension) for dimension in rng.integers(1, 7, pick(rng, (1, 1, 2, 3))))
    few = dimensions[0]
    return Ranges(
        dimensions=pick(rng, (dimensions, dimensions, (*dimensions, 1), (few, few, few, 4 * few))),
        rank=pick(rng, (1, 2, 3, 4)),
        scales=tuple(_scale(rng) for _ in range(pick(rng, (1, 2, 4)))),
        omission=pick(rng, (0.0, 0.0, 0.5, 1.0)),
        constants=pick(rng, (0.0, 0.5, 1.0)),
        integers=pick(rng, ((0, min(dimensions)), (0, 1), (-100, 100))),
        floats=pick(rng, ((-2.0, 2.0), (0.0, 2.0), (-100.0, 100.0))),
        central=(share := rng.random()) < 0.5,
        uniform=pick(rng, (0.0, 0.0, 1.0)),
        is_high=2 * share % 1 < HIGH,
    )


def _scale(rng: np.random.Generator) -> float:
    if rng.random() < 0.4:
        return pick(rng, SCALES)
    return float(np.float32(np.exp(rng.uniform(np.log(SMALLEST_SCALE), np.log(LARGEST_SCALE)))))


def random_scalar(parameter: Parameter, code: OperandCode, rng: np.random.Generator) -> Array:
    """Return a random scalar; retry a few times if the parameter's check rejects it."""
    check = parameter.check if isinstance(parameter, ScalarParameter) else None
    value: Any = 0
    for _ in range(TRIES):
        value = _scalar(parameter, code, rng)
        if check is None or check(value) is None:
            break
    return np.array(value, np.bool_ if code == OperandCode.BOOL else DTYPES[code])


def _scalar(parameter: Parameter, code: OperandCode, rng: np.random.Generator) -> Any:
    if isinstance(parameter, ActivationParameter):
        return int(pick(rng, tuple(FuseCode)))
    if code == OperandCode.BOOL:
        return bool(rng.integers(2))
    if code in (OperandCode.FLOAT32, OperandCode.FLOAT16):
        return pick(rng, (*REALS, float(rng.uniform(0, 1))))
    value = pick(rng, (*INTEGERS, int(rng.integers(-128, 128))))
    return abs(value) if code == OperandCode.UINT32 else value


def random_values(parameter: TensorParameter, first: OperandSpec | None, rng: np.random.Generator) -> Array | None:
    """Return elements of a ValuesParameter (sizes, paddings, permutations); None for other parameters."""
    if not isinstance(parameter, ValuesParameter):
        return None
    dimensions = first.dimensions if first else (1,)
    rank = pick(rng, [rank for rank in range(1, 5) if parameter.rank_level(rank) is not None])
    if rank > 1:
        shape = (pick(rng, (len(dimensions), 2)), *[2] * (rank - 1))
        return rng.integers(0, 3, shape, np.int32)
    count = pick(rng, (len(dimensions), len(dimensions), 1, 2, 4))
    numbers = pick(
        rng,
        (
            np.arange(count),
            rng.permutation(count),
            rng.integers(0, 3, count),
            rng.integers(1, 4, count),
            rng.integers(-2, 6, count),
            np.resize(rng.permutation(dimensions), count),
            np.resize(dimensions, count),
        ),
    )
    return np.asarray(numbers, np.int32)


def random_dimensions(name: str, rank: int, ranges: Ranges, rng: np.random.Generator) -> Shape:
    dimensions = tuple(pick(rng, ranges.dimensions) for _ in range(rank))
    return (*dimensions[:-1], COLUMNS[name]) if name in COLUMNS else dimensions


def random_data(operand: OperandSpec, ranges: Ranges, rng: np.random.Generator) -> Array:
    """Return elements of a tensor. Quantized values span their range, boxes lie in the unit square."""
    if operand.name in BOXES and operand.dimensions[-1] % 4 == 0:
        corners = rng.uniform(0, 1, (*operand.dimensions[:-1], operand.dimensions[-1] // 4, 2, 2))
        boxes = np.sort(corners, axis=-2).reshape(operand.dimensions)
        return (boxes / operand.scale if operand.scale else boxes).astype(DTYPES[operand.code])
    data = _data(operand, ranges, rng)
    if rng.random() < EQUAL and data.size:
        return np.full_like(data, data.reshape(-1)[0])
    if rng.random() < REPEATED and data.size:
        few: Array = rng.choice(data.reshape(-1)[:FEW], data.shape)
        return few
    if operand.type == "TENSOR_INT32" and data.ndim == 1 and rng.random() < 0.5:
        return np.sort(data)
    return data


def _data(operand: OperandSpec, ranges: Ranges, rng: np.random.Generator) -> Array:
    dtype, shape = DTYPES[operand.code], operand.dimensions
    if operand.code == OperandCode.TENSOR_BOOL8:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # values beyond the range of float16 become infinite
            return _floats(ranges, shape, rng).astype(dtype)
    if operand.code == OperandCode.TENSOR_INT32:
        low, high = (-100, 100) if operand.scale else ranges.integers
        return rng.integers(low, high, shape, np.int32)
    limits = np.iinfo(dtype)
    if rng.random() < 0.15:
        return rng.choice(np.array([limits.min, limits.max, operand.zero_point], dtype), shape)
    codes = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if rng.random() < 0.2:
        return np.where(rng.random(shape) < 0.1, dtype.type(operand.zero_point), codes)
    return codes


def _floats(ranges: Ranges, shape: Shape, rng: np.random.Generator) -> Array:
    """Return floats in the attempt's range, some of them ties or special values."""
    numbers = rng.uniform(*ranges.floats, shape)
    if rng.random() < 0.3:
        numbers = np.where(rng.random(shape) < 0.2, rng.choice(TIES, shape), numbers)
    if ranges.special:
        numbers = np.where(rng.random(shape) < ranges.special, rng.choice(SPECIAL, shape), numbers)
    return numbers
