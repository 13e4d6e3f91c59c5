"""The structures of NeuralNetworks.h for operand types."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from nnapi.model.operand import OperandType


class OperandTypeStruct(ctypes.Structure):
    """``ANeuralNetworksOperandType``."""

    _fields_ = (
        ("type", ctypes.c_int32),
        ("dimensionCount", ctypes.c_uint32),
        ("dimensions", ctypes.POINTER(ctypes.c_uint32)),
        ("scale", ctypes.c_float),
        ("zeroPoint", ctypes.c_int32),
    )

    @classmethod
    def of(cls, type: OperandType) -> OperandTypeStruct:
        return cls(type.code, type.rank, uint32s(type.dimensions), type.scale, type.zero_point)


class ChannelStruct(ctypes.Structure):
    """``ANeuralNetworksSymmPerChannelQuantParams``."""

    _fields_ = (
        ("channelDim", ctypes.c_uint32),
        ("scaleCount", ctypes.c_uint32),
        ("scales", ctypes.POINTER(ctypes.c_float)),
    )

    @classmethod
    def of(cls, dimension: int, scales: Sequence[float]) -> ChannelStruct:
        return cls(dimension, len(scales), (ctypes.c_float * len(scales))(*scales))


def uint32s(numbers: Sequence[int]) -> Any:
    """Return an array of uint32_t; None for no numbers."""
    return (ctypes.c_uint32 * len(numbers))(*numbers) if len(numbers) else None
