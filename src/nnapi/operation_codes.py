"""The operations of NeuralNetworks.h at feature level 8, and the composite operations of this project.

Composite operations are an extension of NNAPI, declared like its operations. Files say them whole, and some engines
compute them whole; for all others they are replaced by operations of NNAPI.
"""

from enum import IntEnum
from typing import TypeAlias


class OperationCode(IntEnum):
    """Codes of operations: the `type` argument of `ANeuralNetworksModel_addOperation`.

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


class CompositeCode(IntEnum):
    """Codes of composite operations, of the extension `nnapi.composites`. A number never changes its meaning."""

    ERF = 65536
    GELU = 65537
    MISH = 65538
    SOFTPLUS = 65539
    ROUND = 65540
    CEIL = 65541
    SIGN = 65542
    CUMSUM = 65543
    MOD = 65544
    BITWISE_AND = 65545
    BITWISE_OR = 65546
    BITWISE_XOR = 65547
    LEFT_SHIFT = 65548
    RIGHT_SHIFT = 65549
    BITCAST = 65550
    DFT = 65551
    GRU = 65552
    RNN_SEQUENCE = 65553
    LSTM_SEQUENCE = 65554
    QUANTIZED_LSTM_SEQUENCE = 65555
    SCATTER_ELEMENTS = 65560
    SCATTER_ND = 65561
    GATHER_ELEMENTS = 65562
    GATHER_ND = 65563
    GRID_SAMPLE = 65564
    TOP_K = 65565
    QUANTIZE_TO_EVEN = 65566
    CONVERT = 65567
    TAKE = 65568
    NON_MAX_SUPPRESSION = 65577
    NONZERO = 65578
    UNIQUE = 65579
    LAYER_NORM = 65580
    RMS_NORM = 65581
    GROUP_NORM = 65582
    ATTENTION = 65583
    ROTARY_EMBEDDING = 65584
    CONV_3D = 65586
    TRANSPOSE_CONV_3D = 65587
    MAX_POOL_3D = 65588
    AVERAGE_POOL_3D = 65589
    ARGMAX_POOL_2D = 65590
    MAX_UNPOOL_2D = 65591
    SHAPE = 65592
    RANGE = 65593
    ROI_ALIGN_V2 = 65594
    BLOCKWISE_FULLY_CONNECTED = 65595
    CONCATENATION_V2 = 65596
    MEAN_V2 = 65597
    REDUCE_SUM_V2 = 65598
    DETECTION_POSTPROCESSING_V2 = 65599


Code: TypeAlias = OperationCode | CompositeCode
COMPOSITE_CODES = frozenset(map(int, CompositeCode))
CODES: dict[str, Code] = {code.name: code for code in (*OperationCode, *CompositeCode)}
"""All codes by name."""
NAMES: dict[int, str] = {int(code): name for name, code in CODES.items()}

CONTROL_FLOW = frozenset({OperationCode.IF, OperationCode.WHILE})
"""Operations whose semantics are those of the models that they refer to."""
DETECTIONS = frozenset({OperationCode.DETECTION_POSTPROCESSING, CompositeCode.DETECTION_POSTPROCESSING_V2})
"""Operations with which single-shot detectors end."""

FAMILIES = {
    "activation": "RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU ERF GELU MISH SOFTPLUS",
    "binary": "ADD SUB MUL DIV MAXIMUM MINIMUM POW EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL "
    "LOGICAL_AND LOGICAL_OR MOD BITWISE_AND BITWISE_OR BITWISE_XOR LEFT_SHIFT RIGHT_SHIFT",
    "unary": "ABS EXP FLOOR LOG NEG RSQRT SIN SQRT LOGICAL_NOT ROUND CEIL SIGN",
    "convolution": "CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D CONV_3D TRANSPOSE_CONV_3D",
    "matmul": "FULLY_CONNECTED BATCH_MATMUL BLOCKWISE_FULLY_CONNECTED",
    "pooling": "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D ROI_ALIGN ROI_POOLING ROI_ALIGN_V2 MAX_POOL_3D AVERAGE_POOL_3D "
    "ARGMAX_POOL_2D MAX_UNPOOL_2D",
    "resize": "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR GRID_SAMPLE",
    "normalization": "SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION INSTANCE_NORMALIZATION "
    "LAYER_NORM RMS_NORM GROUP_NORM",
    "attention": "ATTENTION ROTARY_EMBEDDING",
    "signal": "DFT",
    "reduction": "CUMSUM MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM MEAN_V2 REDUCE_SUM_V2",
    "movement": "RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE CONCATENATION PACK SPLIT PAD PAD_V2 MIRROR_PAD SLICE "
    "STRIDED_SLICE TILE REVERSE DEPTH_TO_SPACE SPACE_TO_DEPTH BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND "
    "CHANNEL_SHUFFLE FILL RANK SHAPE RANGE CONCATENATION_V2",
    "indexing": "GATHER SELECT TOPK_V2 ARGMAX ARGMIN EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION "
    "TAKE GATHER_ELEMENTS GATHER_ND SCATTER_ELEMENTS SCATTER_ND TOP_K NONZERO UNIQUE",
    "quantization": "QUANTIZE DEQUANTIZE CAST QUANTIZE_TO_EVEN CONVERT BITCAST",
    "recurrent": "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM QUANTIZED_16BIT_LSTM QUANTIZED_LSTM "
    "RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF GRU RNN_SEQUENCE LSTM_SEQUENCE "
    "QUANTIZED_LSTM_SEQUENCE",
    "detection": "DETECTION_POSTPROCESSING AXIS_ALIGNED_BBOX_TRANSFORM BOX_WITH_NMS_LIMIT GENERATE_PROPOSALS "
    "HEATMAP_MAX_KEYPOINT NON_MAX_SUPPRESSION DETECTION_POSTPROCESSING_V2",
    "control_flow": "IF WHILE",
    "random": "RANDOM_MULTINOMIAL",
}
"""Operations by family. Rules lie in modules with these names."""
FAMILY_OF: dict[int, str] = {CODES[name]: family for family, names in FAMILIES.items() for name in names.split()}

MODULES = {
    "argmax_pooling": ("ARGMAX_POOL_2D", "MAX_UNPOOL_2D"),
    "attention": ("ATTENTION", "ROTARY_EMBEDDING"),
    "bits": ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "LEFT_SHIFT", "RIGHT_SHIFT", "BITCAST"),
    "concatenation": ("CONCATENATION", "CONCATENATION_V2", "PACK", "SPLIT"),
    "control_flow": ("IF", "WHILE"),
    "convolution": ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D"),
    "convolution_3d": ("CONV_3D", "TRANSPOSE_CONV_3D"),
    "detection_postprocessing": ("DETECTION_POSTPROCESSING", "DETECTION_POSTPROCESSING_V2"),
    "elementwise": (
        *("RELU", "RELU1", "RELU6", "TANH", "LOGISTIC", "ELU", "HARD_SWISH"),
        *("ABS", "EXP", "FLOOR", "LOG", "NEG", "RSQRT", "SIN", "SQRT", "LOGICAL_NOT"),
    ),
    "group_normalization": ("LAYER_NORM", "RMS_NORM", "GROUP_NORM"),
    "coordinates": ("TAKE", "GATHER_ELEMENTS", "GATHER_ND", "SCATTER_ELEMENTS", "SCATTER_ND"),
    "indexing": ("GATHER", "SELECT", "ARGMAX", "ARGMIN", "TOPK_V2", "EMBEDDING_LOOKUP", "HASHTABLE_LOOKUP", "TOP_K"),
    "lstm": ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"),
    "matmul": ("FULLY_CONNECTED", "BATCH_MATMUL"),
    "movement": ("TRANSPOSE", "REVERSE", "TILE", "FILL", "RANGE"),
    "normalization": ("L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "INSTANCE_NORMALIZATION"),
    "pad": ("PAD", "PAD_V2", "MIRROR_PAD"),
    "pairwise": (
        *("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "PRELU", "LOGICAL_AND", "LOGICAL_OR"),
        *("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
    ),
    "pooling": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "pooling_3d": ("MAX_POOL_3D", "AVERAGE_POOL_3D"),
    "quantization": ("DEQUANTIZE", "QUANTIZE", "CAST", "QUANTIZE_TO_EVEN", "CONVERT"),
    "quantized_lstm": ("QUANTIZED_LSTM", "QUANTIZED_LSTM_SEQUENCE"),
    "reduce": (
        *("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_SUM"),
        *("MEAN_V2", "REDUCE_SUM_V2"),
    ),
    "reshape": ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "RANK", "SHAPE"),
    "rounding": ("ROUND", "CEIL", "SIGN"),
    "smooth_activations": ("ERF", "GELU", "MISH", "SOFTPLUS"),
    "resize": ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
    "rnn": ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"),
    "roi": ("ROI_ALIGN", "ROI_POOLING", "ROI_ALIGN_V2"),
    "selection": ("NONZERO", "UNIQUE"),
    "slice": ("SLICE", "STRIDED_SLICE"),
    "sequences": ("GRU", "RNN_SEQUENCE", "LSTM_SEQUENCE"),
    "softmax": ("SOFTMAX", "LOG_SOFTMAX"),
    "space_depth_batch": (
        *("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"),
        "CHANNEL_SHUFFLE",
    ),
}
"""Modules of ``nnapi.ops`` that declare several operations; every other operation has a module of its own name."""
