"""DETECTION_POSTPROCESSING and DETECTION_POSTPROCESSING_V2 against the reference, on random boxes."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import tensor
from nnapi.operation_codes import Code, CompositeCode
from tests.drivers.xnnpack.engine_cases import agree
from tests.drivers.xnnpack.filter_cases import FLOAT
from tests.single import scalar


def run(code: Code, inputs: list[Any], *outputs: Any) -> None:
    agree(code, inputs, list(outputs))


def number(value: float) -> tuple[Any, ...]:
    return scalar(OperandCode.FLOAT32, float(value))


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("numbers_per_box", [4, 7])
@pytest.mark.parametrize("background", [False, True, None])
def test_detection_postprocessing(regular: bool, numbers_per_box: int, background: bool | None) -> None:
    """``background`` is whether labels count it; None if the scores have none."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        cells = int(random.integers(1, 30))
        centers_and_sizes = random.random((cells, 2)), random.random((cells, 2)) / 2 + 0.05
        tensors = [
            (tensor("float32", (1, cells, 4)), random.random((1, cells, 4)) ** 2),
            (tensor("float32", (1, cells, numbers_per_box)), random.normal(size=(1, cells, numbers_per_box))),
            (tensor("float32", (cells, 4)), np.concatenate(centers_and_sizes, 1)),
        ]
        counts = int(random.integers(1, 12)), 3 if regular else 1, int(random.integers(1, 8))
        limits = [scalar(OperandCode.INT32, count) for count in counts]
        thresholds = number(random.choice([0.0, 0.3])), number(random.choice([0.2, 0.6]))
        scales = [number(scale) for scale in (10.0, 10.0, 5.0, 5.0)]
        arguments = [*tensors, *scales, scalar(OperandCode.BOOL, regular), *limits, *thresholds]
        code: Code = CompositeCode.DETECTION_POSTPROCESSING_V2
        if background is not None:
            code = OperationCode.DETECTION_POSTPROCESSING
            arguments.append(scalar(OperandCode.BOOL, background))
        run(code, arguments, FLOAT, FLOAT, tensor("int32"), tensor("int32"))
