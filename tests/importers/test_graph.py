"""The graph that importers build: the quantization that an operation fixes."""

from types import SimpleNamespace
from typing import Any

import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.importers.graph import Allowance, _passes, _same_quantization
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY


def quantized(scale: float, zero_point: int = 3) -> OperandType:
    return OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (2,), scale, zero_point)


@pytest.mark.parametrize("scale", [0.5, 0.5 * (1 + 1e-7), 0.5 * (1 - 1e-7)])
def test_a_scale_that_differs_by_rounding_becomes_the_fixed_one(scale: float) -> None:
    assert _same_quantization(quantized(scale), 0.5, 3) == quantized(0.5)


@pytest.mark.parametrize(("scale", "zero_point"), [(0.625, 3), (0.375, 3), (0.5, 2), (0.5, 4), (0.625, 4)])
def test_another_quantization_than_the_fixed_one_is_refused(scale: float, zero_point: int) -> None:
    said = f"gives scale 0.5 and zero point 3, the file wants {scale:.9g} and {zero_point}"
    with pytest.raises(BadDataError, match=said):
        _same_quantization(quantized(scale, zero_point), 0.5, 3)


def test_an_allowance_grants_its_bytes_once() -> None:
    allowance = Allowance(0, 100)
    assert [allowance.grants(count) for count in (60, 41, 40, 1, 0)] == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("code", "array", "passes"),
    [
        (OperationCode.TRANSPOSE, [1], True),
        (OperationCode.TRANSPOSE, None, False),  # computed: its dimensions are not the file's
        (OperationCode.ABS, [1], False),
        (OperationCode.ABS, None, False),
    ],
)
def test_dynamic_dimensions_pass_through_what_moves_known_values(code: int, array: Any, passes: bool) -> None:
    given, result = SimpleNamespace(is_dynamic_shape=True), SimpleNamespace(array=array)
    match = SimpleNamespace(inputs={"input": (0,)})
    assert _passes(REGISTRY[code], match, [given], [result]) == passes  # type: ignore[arg-type,list-item]
