"""The numbers of the C headers of NNAPI at feature level 8.

Every name is the header's without `ANEURALNETWORKS_`.
"""

from enum import IntEnum

# Values of at most this many bytes are copied by `ANeuralNetworksModel_setOperandValue`; larger ones stay the caller's.
MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128

# Length of the token given to `ANeuralNetworksCompilation_setCaching`.
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


class OperationCode(IntEnum):
    """What an operation computes: the `type` argument of `ANeuralNetworksModel_addOperation`.

    Numbers from 65536 on, read as unsigned, name operations of vendor extensions and are not members.
    """

    # since feature level 1
    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    DEPTH_TO_SPACE = 5
    DEQUANTIZE = 6
    EMBEDDING_LOOKUP = 7
    FLOOR = 8
    FULLY_CONNECTED = 9
    HASHTABLE_LOOKUP = 10
    L2_NORMALIZATION = 11
    L2_POOL_2D = 12
    LOCAL_RESPONSE_NORMALIZATION = 13
    LOGISTIC = 14
    LSH_PROJECTION = 15
    LSTM = 16
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    RNN = 24
    SOFTMAX = 25
    SPACE_TO_DEPTH = 26
    SVDF = 27
    TANH = 28

    # since feature level 2
    BATCH_TO_SPACE_ND = 29
    DIV = 30
    MEAN = 31
    PAD = 32
    SPACE_TO_BATCH_ND = 33
    SQUEEZE = 34
    STRIDED_SLICE = 35
    SUB = 36
    TRANSPOSE = 37

    # since feature level 3
    ABS = 38
    ARGMAX = 39
    ARGMIN = 40
    AXIS_ALIGNED_BBOX_TRANSFORM = 41
    BIDIRECTIONAL_SEQUENCE_LSTM = 42
    BIDIRECTIONAL_SEQUENCE_RNN = 43
    BOX_WITH_NMS_LIMIT = 44
    CAST = 45
    CHANNEL_SHUFFLE = 46
    DETECTION_POSTPROCESSING = 47
    EQUAL = 48
    EXP = 49
    EXPAND_DIMS = 50
    GATHER = 51
    GENERATE_PROPOSALS = 52
    GREATER = 53
    GREATER_EQUAL = 54
    GROUPED_CONV_2D = 55
    HEATMAP_MAX_KEYPOINT = 56
    INSTANCE_NORMALIZATION = 57
    LESS = 58
    LESS_EQUAL = 59
    LOG = 60
    LOGICAL_AND = 61
    LOGICAL_NOT = 62
    LOGICAL_OR = 63
    LOG_SOFTMAX = 64
    MAXIMUM = 65
    MINIMUM = 66
    NEG = 67
    NOT_EQUAL = 68
    PAD_V2 = 69
    POW = 70
    PRELU = 71
    QUANTIZE = 72
    QUANTIZED_16BIT_LSTM = 73
    RANDOM_MULTINOMIAL = 74
    REDUCE_ALL = 75
    REDUCE_ANY = 76
    REDUCE_MAX = 77
    REDUCE_MIN = 78
    REDUCE_PROD = 79
    REDUCE_SUM = 80
    ROI_ALIGN = 81
    ROI_POOLING = 82
    RSQRT = 83
    SELECT = 84
    SIN = 85
    SLICE = 86
    SPLIT = 87
    SQRT = 88
    TILE = 89
    TOPK_V2 = 90
    TRANSPOSE_CONV_2D = 91
    UNIDIRECTIONAL_SEQUENCE_LSTM = 92
    UNIDIRECTIONAL_SEQUENCE_RNN = 93
    RESIZE_NEAREST_NEIGHBOR = 94

    # since feature level 4
    QUANTIZED_LSTM = 95
    IF = 96
    WHILE = 97
    ELU = 98
    HARD_SWISH = 99
    FILL = 100
    RANK = 101

    # since feature level 6
    BATCH_MATMUL = 102
    PACK = 103

    # since feature level 7
    MIRROR_PAD = 104
    REVERSE = 105


CONTROL_FLOW = frozenset({OperationCode.IF, OperationCode.WHILE})
"""Operations that mean what the models mean that they refer to."""


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
    """What an application values most in its executions: `ANeuralNetworksCompilation_setPreference`."""

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
    """Version of the specification.

    The result of `ANeuralNetworks_getRuntimeFeatureLevel` and `ANeuralNetworksDevice_getFeatureLevel`.

    Level n is `FeatureLevelCode[f"FEATURE_LEVEL_{n}"]`; back again is `.level`.
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
        """The level as people say it, 1 to 8."""
        return int(self.name.removeprefix("FEATURE_LEVEL_"))


class ResultCode(IntEnum):
    """Outcome of a call: the return value of every C function that can fail, and of asynchronous work."""

    NO_ERROR = 0  # success
    OUT_OF_MEMORY = 1  # host allocation failed
    INCOMPLETE = 2  # kept for history; never produced by the level 8 runtime
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
    """Which time of a measured execution: the `durationCode` argument of `ANeuralNetworksExecution_getDuration`."""

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
