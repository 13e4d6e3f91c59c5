"""Composite operations that LiteRT has."""

from typing import Any

import numpy as np
import pytest

from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.drivers.xnnpack.filter_cases import FLOAT
from tests.drivers.xnnpack.test_xnnpack_rules import flag, given, ints, run

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("code", [CompositeCode.ROUND, CompositeCode.CEIL, CompositeCode.SIGN])
def test_rounding(code: CompositeCode) -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.4, 0, 0.5, 0.7, 1.5, 2.5], np.float32)
    run(code, [(FLOAT.with_dimensions(x.shape), x)], FLOAT)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool) -> None:
    run(CompositeCode.GELU, [given(FLOAT, 4, 9), flag(approximate)], FLOAT)


@pytest.mark.parametrize("type", [FLOAT, tensor("int32")])
def test_cumulative_sums(type: Any) -> None:
    for axis, exclusive, reverse in ((0, False, False), (1, True, False), (-1, False, True), (2, True, True)):
        run(CompositeCode.CUMSUM, [given(type, 2, 3, 4), *ints(axis), flag(exclusive), flag(reverse)], type)
