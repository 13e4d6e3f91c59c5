"""An operation is answered, and computed, the same wherever it stands: between others or at the end of a model."""

import numpy as np
import pytest

from nnapi import Compilation, Device, Model, devices
from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.operand import OperandType, tensor

pytestmark = pytest.mark.engine

SHAPE = 1, 2, 2, 4
WIDE = tensor("int8", SHAPE, 1.1868, -113)
FINE = 1.0, -128
CODES = np.arange(-128, 128, 16, dtype=np.int8).reshape(SHAPE)
VALID = OperandType(OperandCode.INT32), np.int32(2)
ONE = OperandType(OperandCode.INT32), np.int32(1)
NONE = OperandType(OperandCode.INT32), np.int32(0)
PERMUTATION = tensor("int32", (4,)), np.array([0, 1, 2, 3], np.int32)
HANDING_ON = {
    OperationCode.RELU: (),
    OperationCode.RELU6: (),
    OperationCode.TRANSPOSE: (PERMUTATION,),
    OperationCode.RESHAPE: ((tensor("int32", (4,)), np.int32(SHAPE)),),  # type: ignore[arg-type]
    OperationCode.MAX_POOL_2D: (VALID, ONE, ONE, ONE, ONE, NONE),
    OperationCode.AVERAGE_POOL_2D: (VALID, ONE, ONE, ONE, ONE, NONE),
}
"""Operations that hand on the scale of their input, with their further arguments: none moves anything here."""
ALL = [pytest.param(device, id=device.name) for device in devices()]


def model_of(code: OperationCode, quantization: tuple[float, int], *, followed: bool) -> Model:
    """One operation on wide codes whose result is declared otherwise, and DEPTH_TO_SPACE behind it where it is
    ``followed``."""
    model = Model()
    x = model.add_operand(WIDE)
    y = out = model.add_operand(tensor("int8", SHAPE, *quantization))
    further = [added(model, *argument) for argument in HANDING_ON.get(code, ())]  # type: ignore[arg-type]
    model.add_operation(code, [x, *further], [y])
    if followed:
        out = model.add_operand(tensor("int8", (1, 4, 4, 1), *quantization))
        model.add_operation(OperationCode.DEPTH_TO_SPACE, [y, added(model, *VALID)], [out])  # type: ignore[arg-type]
    model.identify_inputs_and_outputs([x], [out])
    model.finish()
    return model


def added(model: Model, type: OperandType, value: np.ndarray) -> int:
    index = model.add_operand(type)
    model.set_operand_value(index, value)
    return index


def run(model: Model, device: Device) -> np.ndarray:
    compilation = Compilation(model, [device])
    compilation.finish()
    return compilation.run(CODES)[0]


@pytest.mark.parametrize("code", HANDING_ON)
@pytest.mark.parametrize("device", ALL)
def test_what_hands_on_a_scale_requantizes_as_declared(device: Device, code: OperationCode) -> None:
    last, followed = (model_of(code, FINE, followed=followed) for followed in (False, True))
    assert last.supported_operations([device]) == [True]
    assert followed.supported_operations([device]) == [True, True]
    numbers = (CODES + 113.0) * WIDE.scale
    if code in (OperationCode.RELU, OperationCode.RELU6):
        numbers = np.clip(numbers, 0, 6 if code == OperationCode.RELU6 else None)
    expected = np.clip(np.rint(numbers) + FINE[1], -128, 127)
    result = run(last, device)
    assert np.abs(result - expected).max() <= 1
    blocks = result.reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(1, 4, 4, 1)
    assert run(followed, device).tolist() == blocks.tolist()


@pytest.mark.parametrize("device", ALL)
def test_what_gives_a_scale_of_its_own_is_answered_alike(device: Device) -> None:
    """The reference takes every operation; rule 128 has it fail when the result is an output of the model."""
    last, followed = (model_of(OperationCode.LOGISTIC, FINE, followed=followed) for followed in (False, True))
    answer = last.supported_operations([device])[0]
    assert followed.supported_operations([device])[0] == answer == (device.name == "nnapi-reference")
    if not answer:
        with pytest.raises(BadDataError, match="gives scale 0.00390625 and zero point -128, the tensor between"):
            Compilation(followed, [device]).finish()
