"""Compute results during the import: constants, dimensions, and nodes on constants, by NumPy or ONNX's evaluator."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from nnapi.formats.onnx import messages as onnx
from nnapi.importers.onnx.numpy_folding import fold_by_numpy
from nnapi.importers.onnx.reader import File, need_library
from nnapi.importers.onnx.symbolic_folding import fold_symbolic
from nnapi.importers.onnx.tensors import DTYPES, ELEM_OF, OnnxTensor, constant, words
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array
from nnapi.shapes.array import SymbolicArray, as_integers, find_symbols, is_symbolic
from nnapi.shapes.size import number_of

MOVES = words("Cast Concat Flatten Gather Identity Reshape Slice Split Squeeze Unsqueeze")
"""Operators that pass values of dynamic dimensions through."""
NEVER = words(
    "Bernoulli DequantizeLinear If Loop Multinomial QuantizeLinear RandomNormal RandomNormalLike "
    "RandomUniform RandomUniformLike Scan SequenceMap"
)
"""Operators that are never folded: random ones, those with subgraphs, those that store constants."""
MAKERS = words(
    "BlackmanWindow ConstantOfShape EyeLike Expand HammingWindow HannWindow MelWeightMatrix OneHot Pad "
    "Range Resize Tile Upsample CenterCropPad Col2Im"
)
"""Operators whose result may be larger than the product of their inputs' sizes."""
KNOWN = words("Constant Shape Size")
"""Operators without a rule, because the import always knows their results."""
MOST = 1 << 24
"""The maximum number of elements of a folded result."""
PARAMETERIZED = words(
    "CenterCropPad Clip Concat Dropout Expand Pad Reshape Resize Scatter ScatterElements ScatterND Slice Split Squeeze "
    "Tile TopK Unsqueeze Upsample"
)
"""Operators whose inputs behind the first are parameters or other data, which may be without elements."""
BY_VALUES = words("Compress ConstantOfShape NonMaxSuppression NonZero OneHot Range Unique")
"""Operators whose result's shape depends on values."""
NO_LARGER = words("Cast Flatten Identity Reshape Slice Split Squeeze Transpose Trilu Unsqueeze")
"""Operators whose results have at most as many elements as their first input."""
DYNAMIC_SHAPES = "it computes with dimensions that only a run knows; fix them by load(shapes=…) or --shape"


def can_fold(kind: str, tensors: Sequence[OnnxTensor | None]) -> bool:
    """Return whether a node can be folded; raise Refused if it computes with dynamic dimensions."""
    if kind in NEVER or any(tensor is not None and tensor.array is None for tensor in tensors):
        return False
    dynamic = [(i, tensor) for i, tensor in enumerate(tensors) if tensor is not None and tensor.is_dynamic_shape]
    if any(kind not in MOVES or (i and kind != "Concat") for i, _ in dynamic):
        expressible(all(tensor.compute for _, tensor in dynamic), DYNAMIC_SHAPES)
        return False
    arrays = [tensor.array for tensor in tensors if tensor is not None and tensor.array is not None]
    return _largest(kind, arrays) <= MOST


def _largest(kind: str, arrays: Sequence[Array]) -> int:
    if kind in MAKERS:
        return max(math.prod(_estimate_shape(kind, arrays)), max((array.size for array in arrays), default=0))
    if kind in NO_LARGER or kind.startswith(("Scatter", "Reduce")):
        return arrays[0].size if arrays else 0
    if kind == "GatherElements":
        return arrays[1].size
    if kind == "Concat":
        return sum(array.size for array in arrays)
    sizes = [max(array.size, 1) for array in arrays]
    return min(math.prod(sizes), _broadcast(arrays)) if sizes else 0


def _broadcast(arrays: Sequence[Array]) -> int:
    try:
        return math.prod(np.broadcast_shapes(*(array.shape for array in arrays)))
    except ValueError:
        return MOST * MOST


def _estimate_shape(kind: str, arrays: Sequence[Array]) -> list[int]:
    """Return the result's dimensions from an operator's constants. Hard cases return a size beyond the limit."""
    last = arrays[-1].reshape(-1) if arrays else np.zeros(0)
    if kind in ("ConstantOfShape", "BlackmanWindow", "HammingWindow", "HannWindow") and last.size <= 8:
        return [abs(int(each)) for each in last]
    if kind == "EyeLike":
        return list(arrays[0].shape)
    if kind in ("Expand", "Tile") and last.size <= 8:
        return [max(int(each), 1) for each in last] + [max(arrays[0].size, 1)]
    if kind == "Range" and all(array.size == 1 for array in arrays):
        start, limit, delta = (float(array.reshape(-1)[0]) for array in arrays)
        return [int(abs((limit - start) / delta)) + 1] if delta else [MOST + 1]
    if kind == "Pad" and len(arrays) > 1 and arrays[1].size <= 16:
        half = arrays[1].size // 2
        grown = np.abs(arrays[1].reshape(2, half)).sum(0).tolist() if half else []
        return [int(have + more) for have, more in zip(arrays[0].shape, grown, strict=False)] or [1]
    if kind == "MelWeightMatrix" and all(array.size == 1 for array in arrays[:2]):
        return [abs(int(array.reshape(-1)[0])) for array in arrays[:2]]
    if kind == "OneHot" and arrays[1].size == 1:
        return [arrays[0].size, abs(int(arrays[1].reshape(-1)[0]))]
    return [MOST + 1]


def compute_empty(
    proto: onnx.NodeProto, opset: int, tensors: Sequence[OnnxTensor | None]
) -> list[OnnxTensor | None] | None:
    """Return the results of a node if none has elements, by the static shapes of its inputs; None for other nodes."""
    computed = [i for i, tensor in enumerate(tensors) if tensor is not None and tensor.array is None]
    known = [None if tensor is None else _zeros(tensor) for tensor in tensors]
    is_lost = any(tensor is not None and zeros is None for tensor, zeros in zip(tensors, known, strict=True))
    depends = proto.op_type in BY_VALUES or (_has_parameters(proto.op_type) and max(computed, default=0) > 0)
    if is_lost or depends or proto.op_type in NEVER:
        return None
    try:
        if any(tensor is not None and is_symbolic(tensor.array) for tensor in known):
            results = _compute_symbolic(proto, opset, known)
        else:
            arrays = fold(proto, opset, known)
            pairs = zip(proto.output, arrays, strict=True)
            results = [constant(name, np.asarray(array)) if name else None for name, array in pairs]
    except Refused:
        return None
    if results is None or any(each is not None and np.size(each.constant) for each in results):
        return None
    return results


def _zeros(tensor: OnnxTensor) -> OnnxTensor | None:
    """Return zeros of a computed tensor's shape; None if they are too many. A constant is returned itself."""
    if tensor.array is not None:
        return tensor
    shape, dtype, symbols = tensor.dims, DTYPES[tensor.elem], find_symbols(tensor.dims)
    if not tensor.is_known or math.prod(map(number_of, shape)) > MOST:
        return None
    if symbols is None:
        return constant("", np.zeros(shape, dtype))
    zeros = SymbolicArray(symbols, lambda sizes: np.zeros(sizes.shape(shape), dtype), shape)
    return constant("", cast(Array, zeros))


def reads_empty(proto: onnx.NodeProto, tensors: Sequence[OnnxTensor | None]) -> bool:
    """Return whether a node reads data without elements."""
    data = tensors[:1] if _has_parameters(proto.op_type) else tensors
    return any(tensor is not None and tensor.lacks_elements for tensor in data)


def _has_parameters(kind: str) -> bool:
    return kind in PARAMETERIZED or kind.startswith("Reduce")


def fold(proto: onnx.NodeProto, opset: int, tensors: Sequence[OnnxTensor | None]) -> list[Any]:
    """Compute a node on constants; raise Refused if ONNX's reference evaluator cannot."""
    simple = fold_by_numpy(proto, opset, [None if tensor is None else tensor.array for tensor in tensors])
    if simple is not None:
        return [simple]
    if proto.op_type == "GatherElements":  # ONNX's evaluator fails beyond 64 elements along the axis
        return [_gather_elements(proto, *(tensor.constant for tensor in tensors if tensor is not None))]
    need_library()
    from onnx import NodeProto, helper
    from onnx.reference import ReferenceEvaluator

    names = [name for name in dict.fromkeys(proto.input) if name]
    inputs = [helper.make_tensor_value_info(name, 0, None) for name in names]
    outputs = [helper.make_tensor_value_info(name, 0, None) for name in proto.output if name]
    node = NodeProto.FromString(proto.SerializeToString())
    graph = helper.make_graph([node], "folded", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(proto.domain, opset)])
    feeds = {name: tensor.array for name, tensor in zip(proto.input, tensors, strict=False) if tensor is not None}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = iter(ReferenceEvaluator(model).run(None, feeds))
    except (Exception, RecursionError) as error:  # for a damaged node, ONNX's evaluator may raise anything
        raise Refused(f"it cannot be computed on its constants ({type(error).__name__}: {error})") from None
    return [next(found) if name else None for name in proto.output]


def _gather_elements(proto: onnx.NodeProto, data: Array, indices: Array) -> Array:
    axis = next((each.i for each in proto.attribute if each.name == "axis"), 0)
    expressible(-data.ndim <= axis < data.ndim == indices.ndim, "its axis or indices do not fit its data")
    own = [slice(None) if i == axis % data.ndim else slice(size) for i, size in enumerate(indices.shape)]
    found: Array = np.take_along_axis(data[tuple(own)], indices, axis)
    return found


def compute_constants(
    file: File, proto: onnx.NodeProto, opset: int, tensors: Sequence[OnnxTensor | None]
) -> list[OnnxTensor | None] | None:
    """Return the results of a node that is a constant, reads dimensions or can be folded; else None."""
    name = next(iter(proto.output), "")
    attributes = {each.name: each for each in proto.attribute}
    first = tensors[0] if tensors else None
    if proto.op_type in ("Shape", "Size") and first is not None and (first.array is None or first.is_dynamic_shape):
        shape = as_integers([each or -1 for each in first.dims], np.int64)
        if proto.op_type == "Size":
            expressible(first.is_known, "it depends on dimensions that only a run knows")
            return [constant(name, as_integers([math.prod(first.dims)], np.int64).reshape(()))]
        begin, end = (attributes[key].i if key in attributes else None for key in ("start", "end"))
        part = shape[begin:end]
        return [constant(name, part, is_dynamic_shape=bool((part < 0).any()))]
    if proto.op_type == "Constant" and "value" in attributes:
        value, in_file = file.array(attributes["value"].t)
        return [constant(name, value, in_file=in_file)]
    if any(tensor is not None and is_symbolic(tensor.array) for tensor in tensors):
        return _compute_symbolic(proto, opset, tensors)
    if not can_fold(proto.op_type, tensors):
        return None
    is_dynamic_shape = any(tensor is not None and tensor.is_dynamic_shape for tensor in tensors)
    results: list[OnnxTensor | None] = []
    for output, found in zip(proto.output, fold(proto, opset, tensors), strict=True):
        if not output:
            results.append(None)
            continue
        is_array = isinstance(found, np.ndarray | np.generic) and found.dtype in ELEM_OF
        expressible(is_array, f"its constant result {output} is of a type that NNAPI does not have")
        array = np.asarray(found)
        results.append(constant(output, array, is_dynamic_shape=is_dynamic_shape and bool((array < 0).any())))
    return results


def _compute_symbolic(
    proto: onnx.NodeProto, opset: int, tensors: Sequence[OnnxTensor | None]
) -> list[OnnxTensor | None] | None:
    """Return the result of a node on constants of which some depend on sizes; None if an input is computed."""
    if proto.op_type in NEVER or any(tensor is not None and tensor.array is None for tensor in tensors):
        return None
    is_dynamic_shape = any(tensor is not None and tensor.is_dynamic_shape for tensor in tensors)
    names = [name for name in proto.output if name]
    results: list[OnnxTensor | None] = []
    for i, name in enumerate(proto.output if len(names) > 1 else names):
        array = _fold_output(proto, opset, tensors, i)
        results.append(constant(name, array, is_dynamic_shape=is_dynamic_shape and bool((array < 0).any())))
    return results


def _fold_output(proto: onnx.NodeProto, opset: int, tensors: Sequence[OnnxTensor | None], position: int) -> Array:
    def compute(*arrays: Array | None) -> Array:
        known = [None if array is None else constant("", array) for array in arrays]
        return np.asarray(fold(proto, opset, known)[position])

    return cast(Array, fold_symbolic(proto, tensors, compute))
