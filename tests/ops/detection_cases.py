"""Shared by tests of detection operations: the four families of types, and plain arithmetic on boxes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.operand import OperandType

EIGHTH = 0.125
LEAST = 1 / 256
"""Below every positive score, above one that was multiplied by 0."""


@dataclass(frozen=True)
class Family:
    """The types that go together. Scores are multiples of 1/128 from -0.5 up to 1, so that every type holds them."""

    values: OperandCode
    boxes: OperandCode
    scalar: OperandCode
    zero_point: int = 0
    anchors: OperandCode | None = None

    def of(self, *shape: int, scale: float = 1 / 128) -> OperandType:
        """Scores or a feature map."""
        quantized = self.boxes == OperandCode.TENSOR_QUANT16_ASYMM
        return OperandType(self.values, shape, scale if quantized else 0, self.zero_point)

    def box(self, *shape: int) -> OperandType:
        return OperandType(self.boxes, shape, EIGHTH if self.boxes == OperandCode.TENSOR_QUANT16_ASYMM else 0)

    def anchor(self, *shape: int) -> OperandType:
        return OperandType(self.anchors or self.boxes, shape, EIGHTH if self.anchors else 0)

    @property
    def atol(self) -> float:
        """Error of a score or coordinate around 1 that the type allows for: rounding once."""
        return 2e-3 if self.values == OperandCode.TENSOR_FLOAT16 else 2e-5


C = OperandCode
FAMILIES = {
    "float32": Family(C.TENSOR_FLOAT32, C.TENSOR_FLOAT32, C.FLOAT32),
    "float16": Family(C.TENSOR_FLOAT16, C.TENSOR_FLOAT16, C.FLOAT16),
    "quant8": Family(C.TENSOR_QUANT8_ASYMM, C.TENSOR_QUANT16_ASYMM, C.FLOAT32, 64, C.TENSOR_QUANT16_SYMM),
    "quant8_signed": Family(
        C.TENSOR_QUANT8_ASYMM_SIGNED, C.TENSOR_QUANT16_ASYMM, C.FLOAT32, -64, C.TENSOR_QUANT16_SYMM
    ),
}


def stored(type: OperandType, real: Any) -> Any:
    """Real numbers as the type stores them; they must be representable."""
    codes = np.asarray(real, np.float64)
    if type.is_quantized:
        codes = codes / type.scale + type.zero_point
        assert (codes == codes.round()).all()
    exact = codes.astype(type.dtype)
    assert (exact == codes).all(), "not representable"
    return exact


def given(type: Any, real: Any) -> Any:
    return type, stored(type, real)


def reals(type: OperandType, array: Any) -> Any:
    """Dequantize stored values in double precision."""
    array = np.asarray(array, np.float64)
    return (array - type.zero_point) * type.scale if type.is_quantized else array


def assert_close(type: OperandType, actual: Any, expected: Any, atol: float) -> None:
    """Within one code of the expected real numbers, or as close as a float of that size can be."""
    expected = np.asarray(expected, np.float64)
    actual = reals(type, actual)
    assert actual.shape == expected.shape
    slack = type.scale * 1.001 if type.is_quantized else atol * np.maximum(1, np.abs(expected))
    np.testing.assert_array_less(np.abs(actual - expected), slack + 1e-12)


def overlap(a: list[Any], b: list[Any]) -> Any:
    """Intersection over union of two boxes, cell by plain cell."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    union = sum(areas) - width * height
    return width * height / union if union else float("nan")


class Race:
    """Greedy suppression, one box at a time; ``margin`` is how near any comparison came to the other outcome."""

    def __init__(self) -> None:
        self.margin = float("inf")

    def near(self, a: Any, b: Any) -> None:
        self.margin = min(self.margin, abs(a - b))

    def run(self, scores: Any, boxes: Any, limit: Any, factor: Any, floor: Any, iou_threshold: Any = None) -> Any:
        """Indices in order of choice with final scores; ``scores`` maps candidate to score."""
        pool, found = dict(scores), []  # type: ignore[var-annotated]
        while pool and len(found) != limit:
            order = sorted(pool, key=lambda i: (-pool[i], i))
            if len(order) > 1:
                self.near(pool[order[0]], pool[order[1]])
            best = order[0]
            found.append((best, pool.pop(best)))
            for i in list(pool):
                shared = overlap(boxes[best], boxes[i])
                if iou_threshold is not None:
                    self.near(shared, iou_threshold)
                pool[i] *= factor(shared)
                self.near(pool[i], floor)
                if pool[i] < floor:
                    del pool[i]
        return found
