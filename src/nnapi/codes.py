"""The constants of NNAPI's C headers at feature level 8, by the headers' names without `ANEURALNETWORKS_`."""

import typing
from enum import IntEnum

if typing.TYPE_CHECKING:
    from nnapi.operation_codes import CONTROL_FLOW as CONTROL_FLOW
    from nnapi.operation_codes import OperationCode as OperationCode

# `ANeuralNetworksModel_setOperandValue` copies values of at most this many bytes; larger ones remain the caller's.
MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128

# Bytes of the token that `ANeuralNetworksCompilation_setCaching` takes.
BYTE_SIZE_OF_CACHE_TOKEN = 32

# NeuralNetworksOEM.h: two operand types and an operation whose meaning is the vendor's. Not in the enums, which hold
# what the specification defines.
OEM_SCALAR = 10000
TENSOR_OEM_BYTE = 10001
OEM_OPERATION = 10000


class OperandCode(IntEnum):
    """Type of an operand: `ANeuralNetworksOperandType.type`, given to `ANeuralNetworksModel_addOperand`.

    Numbers from 65536 on, read as unsigned, name types of vendor extensions and are not members.
    """

    # since feature level 1
    FLOAT32 = 0
    INT32 = 1
    UINT32 = 2
    TENSOR_FLOAT32 = 3
    TENSOR_INT32 = 4
    TENSOR_QUANT8_ASYMM = 5

    # since feature level 3
    BOOL = 6
    TENSOR_QUANT16_SYMM = 7
    TENSOR_FLOAT16 = 8
    TENSOR_BOOL8 = 9
    FLOAT16 = 10
    TENSOR_QUANT8_SYMM_PER_CHANNEL = 11
    TENSOR_QUANT16_ASYMM = 12
    TENSOR_QUANT8_SYMM = 13

    # since feature level 4
    TENSOR_QUANT8_ASYMM_SIGNED = 14
    MODEL = 15


class FuseCode(IntEnum):
    """Activation applied to the result of an operation: the value of its INT32 scalar argument for the activation."""

    FUSED_NONE = 0  # no limit
    FUSED_RELU = 1  # lower bound 0
    FUSED_RELU1 = 2  # bounds -1 and 1
    FUSED_RELU6 = 3  # bounds 0 and 6


class PaddingCode(IntEnum):
    """Implicit padding scheme: the value of the INT32 padding argument of convolutions and pools."""

    PADDING_SAME = 1  # output dimension = ceil(input / stride); an odd padding cell goes to the end
    PADDING_VALID = 2  # no padding


class PreferenceCode(IntEnum):
    """The goal of an application's executions: `ANeuralNetworksCompilation_setPreference`."""

    PREFER_LOW_POWER = 0  # save energy
    PREFER_FAST_SINGLE_ANSWER = 1  # default; short latency
    PREFER_SUSTAINED_SPEED = 2  # throughput over successive runs


class DeviceTypeCode(IntEnum):
    """Kind of hardware behind a device: the result of `ANeuralNetworksDevice_getType`."""

    DEVICE_UNKNOWN = 0
    DEVICE_OTHER = 1
    DEVICE_CPU = 2
    DEVICE_GPU = 3
    DEVICE_ACCELERATOR = 4


class FeatureLevelCode(IntEnum):
    """Version of the specification, as `ANeuralNetworksDevice_getFeatureLevel` returns it.

    Level n is `FeatureLevelCode[f"FEATURE_LEVEL_{n}"]`; the inverse is `.level`.
    """

    FEATURE_LEVEL_1 = 27
    FEATURE_LEVEL_2 = 28
    FEATURE_LEVEL_3 = 29
    FEATURE_LEVEL_4 = 30
    FEATURE_LEVEL_5 = 31
    FEATURE_LEVEL_6 = 1_000_006
    FEATURE_LEVEL_7 = 1_000_007
    FEATURE_LEVEL_8 = 1_000_008

    @property
    def level(self) -> int:
        """Return the level, 1 to 8."""
        return int(self.name.removeprefix("FEATURE_LEVEL_"))


class ResultCode(IntEnum):
    """Outcome of a call: the return value of every C function that can fail, and of asynchronous work."""

    NO_ERROR = 0  # success
    OUT_OF_MEMORY = 1  # host allocation failed
    INCOMPLETE = 2  # never produced by the level 8 runtime
    UNEXPECTED_NULL = 3  # a pointer that must not be null is null
    BAD_DATA = 4  # an argument is wrong
    OP_FAILED = 5  # compilation or execution failed
    BAD_STATE = 6  # call not permitted in the state of the object
    UNMAPPABLE = 7  # memory cannot be mapped
    OUTPUT_INSUFFICIENT_SIZE = 8  # an output buffer is too small for the computed result
    UNAVAILABLE_DEVICE = 9  # a device cannot be used
    MISSED_DEADLINE_TRANSIENT = 10  # time limit missed, a retry may succeed
    MISSED_DEADLINE_PERSISTENT = 11  # time limit missed, a retry will miss it too
    RESOURCE_EXHAUSTED_TRANSIENT = 12  # resource limit, a retry may succeed
    RESOURCE_EXHAUSTED_PERSISTENT = 13  # resource limit, a retry will fail too
    DEAD_OBJECT = 14  # the object behind the handle is gone, for example a driver crash


class DurationCode(IntEnum):
    """Times of a measured execution: the `durationCode` argument of `ANeuralNetworksExecution_getDuration`."""

    DURATION_ON_HARDWARE = 0  # device time only
    DURATION_IN_DRIVER = 1  # driver time including the device, without transport
    FENCED_DURATION_ON_HARDWARE = 2  # device time from the signal of the last dependency
    FENCED_DURATION_IN_DRIVER = 3  # driver time from the signal of the last dependency


class PriorityCode(IntEnum):
    """Urgency among the compilations of one application: `ANeuralNetworksCompilation_setPriority`."""

    PRIORITY_LOW = 90
    PRIORITY_MEDIUM = 100
    PRIORITY_HIGH = 110
    PRIORITY_DEFAULT = 100  # an alias, as in the header


if not typing.TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        if name not in ("CONTROL_FLOW", "OperationCode"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from nnapi import operation_codes  # on demand: cached models do not need it

        return getattr(operation_codes, name)
