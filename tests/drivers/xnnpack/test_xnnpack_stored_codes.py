"""DEQUANTIZE of constants: what the engine makes of stored codes, for those who read them and by themselves."""

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.model.operand import ChannelQuantization, tensor
from tests.drivers.xnnpack.engine_cases import Net, both
from tests.drivers.xnnpack.filter_cases import FLOAT, SIGNED, values
from tests.drivers.xnnpack.test_xnnpack_rules import SAME, TYPES, given

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("name", ["uint8", "int8", "per channel"])
def test_stored_codes_become_numbers(name: str) -> None:
    """By themselves, as a part of a plan may ask for them, and beside what is computed."""
    channel = ChannelQuantization(1, tuple(np.linspace(0.01, 0.2, 9)))
    types = {**TYPES, "per channel": tensor("quant8_symm_per_channel", channel=channel)}
    codes, net = given(types[name], 4, 9), Net()
    x = net.input(FLOAT.with_dimensions((4, 9)))
    real = net.call(OperationCode.DEQUANTIZE, [net.constant(*codes)], FLOAT.with_dimensions((4, 9)))
    model = net.finished(real, net.call(OperationCode.RELU, [x], FLOAT.with_dimensions((4, 9))))
    ours, theirs = both(model, np.ones((4, 9), np.float32))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(np.unique(ours[0])) > 9


@pytest.mark.parametrize("code", [OperationCode.CONV_2D, OperationCode.FULLY_CONNECTED])
def test_numbers_behind_stored_codes_are_constants_to_their_readers(code: OperationCode) -> None:
    """Filters that DEQUANTIZE makes are stored in float32: nothing of them is computed at a run."""
    shape = (3, 1, 1, 4) if code == OperationCode.CONV_2D else (3, 4)
    net, image = Net(), FLOAT.with_dimensions((2, *shape[1:]))
    x = net.input(image)
    filter = net.call(OperationCode.DEQUANTIZE, [net.constant(*given(SIGNED, *shape))], FLOAT.with_dimensions(shape))
    bias = net.constant(*given(FLOAT, 3))
    numbers = net.numbers(SAME, 1, 1, 0) if code == OperationCode.CONV_2D else net.numbers(0)
    out = FLOAT.with_dimensions((2, *shape[1:-1], 3))
    model = net.finished(net.call(code, [x, filter, bias, *numbers], out))
    assert [operator.kind for operator in lower_model(model).graph.operators] == [code.name]
    ours, theirs = both(model, values(image, np.random.default_rng(3), -4, 4))
    np.testing.assert_allclose(ours[0], theirs[0], 1e-5, 1e-5)
