"""The part of the .tflite schema that is used: field numbers in declaration order, names of types."""


class Model:
    VERSION, OPERATOR_CODES, SUBGRAPHS, BUFFERS, METADATA, SIGNATURE_DEFS = 0, 1, 2, 4, 6, 7


class Metadata:
    NAME, BUFFER = range(2)


class SignatureDef:
    INPUTS, OUTPUTS, SIGNATURE_KEY = range(3)
    SUBGRAPH_INDEX = 4


class TensorMap:
    NAME, TENSOR_INDEX = range(2)


class OperatorCode:
    DEPRECATED_BUILTIN_CODE, CUSTOM_CODE, VERSION, BUILTIN_CODE = range(4)


class SubGraph:
    TENSORS, INPUTS, OUTPUTS, OPERATORS, NAME = range(5)


class Buffer:
    DATA, OFFSET, SIZE = range(3)


class Tensor:
    SHAPE, TYPE, BUFFER, NAME, QUANTIZATION, IS_VARIABLE, SPARSITY, SHAPE_SIGNATURE = range(8)


class QuantizationParameters:
    SCALE, ZERO_POINT, DETAILS_TYPE, DETAILS, QUANTIZED_DIMENSION = range(2, 7)


BLOCKWISE = 2


class SparsityParameters:
    TRAVERSAL_ORDER, BLOCK_MAP, DIM_METADATA = range(3)


class DimensionMetadata:
    FORMAT, DENSE_SIZE, ARRAY_SEGMENTS_TYPE, ARRAY_SEGMENTS, ARRAY_INDICES_TYPE, ARRAY_INDICES = range(6)


class BlockwiseQuantization:
    SCALES, ZERO_POINTS, BLOCK_SIZE = range(3)


class Operator:
    OPCODE_INDEX, INPUTS, OUTPUTS, BUILTIN_OPTIONS_TYPE, BUILTIN_OPTIONS, CUSTOM_OPTIONS = range(6)
    INTERMEDIATES, BUILTIN_OPTIONS_2_TYPE, BUILTIN_OPTIONS_2 = 8, 11, 12


class StableHLOCompositeOptions:
    NAME, DECOMPOSITION_SUBGRAPH_INDEX, COMPOSITE_ATTRIBUTES = range(3)


TYPES = (
    "FLOAT32",
    "FLOAT16",
    "INT32",
    "UINT8",
    "INT64",
    "STRING",
    "BOOL",
    "INT16",
    "COMPLEX64",
    "INT8",
    "FLOAT64",
    "COMPLEX128",
    "UINT64",
    "RESOURCE",
    "VARIANT",
    "UINT32",
    "UINT16",
    "INT4",
    "BFLOAT16",
)
ELEMENTS = {"f32": 0, "f16": 1, "i32": 2, "u8": 3, "i64": 4, "bool": 6, "i16": 7, "c64": 8, "i8": 9}
INT4 = 17

CUSTOM = "CUSTOM:"
"""The prefix of custom operators' names; their option ``content`` holds raw bytes."""
DETECTION = f"{CUSTOM}TFLite_Detection_PostProcess"
ARGMAX_POOLING, UNPOOLING = f"{CUSTOM}MaxPoolingWithArgmax2D", f"{CUSTOM}MaxUnpooling2D"
SAME, VALID = 0, 1
