import ctypes

from nnapi.codes import OperandCode
from nnapi.model.c_structures import ChannelStruct, OperandTypeStruct, uint32s
from nnapi.model.operand import OperandType


def test_an_operand_type_in_c() -> None:
    struct = OperandTypeStruct.of(OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (2, 3), 0.5, 7))
    assert struct.type == OperandCode.TENSOR_QUANT8_ASYMM
    assert struct.dimensions[: struct.dimensionCount] == [2, 3]
    assert (struct.scale, struct.zeroPoint) == (0.5, 7)


def test_a_scalar_has_no_dimensions() -> None:
    struct = OperandTypeStruct.of(OperandType(OperandCode.INT32))
    assert struct.dimensionCount == 0
    assert not struct.dimensions


def test_scales_of_channels() -> None:
    struct = ChannelStruct.of(3, (0.5, 0.25))
    assert struct.channelDim == 3
    assert struct.scales[: struct.scaleCount] == [0.5, 0.25]


def test_the_sizes_are_those_of_the_header() -> None:
    pointer = ctypes.sizeof(ctypes.c_void_p)
    assert ctypes.sizeof(OperandTypeStruct) == 16 + pointer
    assert ctypes.sizeof(ChannelStruct) == 8 + pointer


def test_no_numbers_are_a_null_pointer() -> None:
    assert uint32s(()) is None
    assert list(uint32s((4, 5))) == [4, 5]
