"""Convert a test of a WebNN operator to a model in ONNX, as browsers do; ``nnapi.load`` reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.webnn.cases import Case, read_number
from nnapi.testing.webnn.layouts import filter_layout, input_layout, reduced_axes

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 20, 9
SAME = {
    **{name: name.capitalize() for name in ("abs", "ceil", "cos", "erf", "exp", "floor", "identity", "log", "neg")},
    **{name: name.capitalize() for name in ("reciprocal", "sign", "sin", "sqrt", "tan", "tanh", "add", "sub", "mul")},
    **{name: name.capitalize() for name in ("div", "max", "min", "pow", "relu", "sigmoid", "softplus", "softsign")},
    "gelu": "Gelu",
    "hardSwish": "HardSwish",
    "matmul": "MatMul",
    "prelu": "PRelu",
    "roundEven": "Round",
}
"""Operators of WebNN without options, and ONNX's name."""
COMPARISONS = {
    "equal": "Equal",
    "greater": "Greater",
    "greaterOrEqual": "GreaterOrEqual",
    "isInfinite": "IsInf",
    "isNaN": "IsNaN",
    "lesser": "Less",
    "lesserOrEqual": "LessOrEqual",
}
"""Operators whose results are uint8 in WebNN, boolean in ONNX."""
LOGICAL = {"logicalAnd": "And", "logicalNot": "Not", "logicalOr": "Or", "logicalXor": "Xor"}
REDUCTIONS = {
    "reduceL1": "ReduceL1",
    "reduceL2": "ReduceL2",
    "reduceLogSum": "ReduceLogSum",
    "reduceLogSumExp": "ReduceLogSumExp",
    "reduceMax": "ReduceMax",
    "reduceMean": "ReduceMean",
    "reduceMin": "ReduceMin",
    "reduceProduct": "ReduceProd",
    "reduceSum": "ReduceSum",
    "reduceSumSquare": "ReduceSumSquare",
}


class UnmappedError(ValueError):
    """An operator of WebNN that no function converts."""


class Converter:
    """The nodes and constants of a model under construction. The last node writes the outputs of the test."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def node(self, kind: str, *inputs: str, outputs: list[str] | None = None, **attributes: Any) -> str:
        from onnx import helper

        outputs = outputs or [f"result_{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, value: Any, dtype: np.dtype[Any] | type = np.int64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.asarray(value).astype(dtype)
        return name

    def operand(self, name: str) -> Array:
        return self.case.inputs[self.case.arguments[name]]

    def transpose(self, value: str, order: list[int]) -> str:
        return value if order == sorted(order) else self.node("Transpose", value, perm=order)

    def model(self) -> bytes:
        """Return the file. Constants of the test stay constants if a device can compute the operator at run time."""
        from onnx import helper, numpy_helper

        case = self.case
        read = {name for node in self.nodes for name in node.input}
        given = {name: array for name, array in case.inputs.items() if name in read}
        inputs = self.run_inputs()
        constants = self.constants | {name: array for name, array in given.items() if name not in inputs}
        graph = helper.make_graph(
            self.nodes,
            case.operator,
            [_describe(name, array) for name, array in inputs.items()],
            [_describe(name, array) for name, array in case.outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )
        opset = helper.make_opsetid("", OPSET)
        content: bytes = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION).SerializeToString()
        return content

    def run_inputs(self) -> dict[str, Array]:
        """Return the inputs of the model. If a test has only constants, they become inputs: else the import would
        compute the result, and no device would be tested."""
        read = {name for node in self.nodes for name in node.input}
        given = {name: array for name, array in self.case.inputs.items() if name in read}
        computed = {name: array for name, array in given.items() if name not in self.case.constants}
        return computed or given


def _describe(name: str, array: Array) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def convert(case: Case) -> Converter:
    """Return the model of a test; raise UnmappedError for an operator that nothing converts."""
    rule = RULES.get(case.operator)
    if rule is None:
        raise UnmappedError(f"no rule converts {case.operator}")
    converter = Converter(case)
    result = rule(converter)
    if result is not None:
        converter.node("Identity", result, outputs=list(case.outputs))
        _skip_identity(converter)
    return converter


def _skip_identity(converter: Converter) -> None:
    """Let the node before the last write the result itself."""
    *_, last = converter.nodes
    if len(converter.nodes) > 1 and converter.nodes[-2].output[0] == last.input[0]:
        converter.nodes.pop()
        converter.nodes[-1].output[0] = last.output[0]


Rule = Callable[[Converter], "str | None"]


def _same(c: Converter) -> str:
    return c.node(SAME[c.case.operator], *c.case.arguments.values())


def _comparison(c: Converter) -> str:
    from onnx import TensorProto

    found = c.node(COMPARISONS[c.case.operator], *c.case.arguments.values())
    return c.node("Cast", found, to=TensorProto.UINT8)


def _logical(c: Converter) -> str:
    from onnx import TensorProto

    flags = [c.node("Cast", name, to=TensorProto.BOOL) for name in c.case.arguments.values()]
    return c.node("Cast", c.node(LOGICAL[c.case.operator], *flags), to=TensorProto.UINT8)


def _reduction(c: Converter) -> str:
    axes, keep = c.constant(reduced_axes(c.case)), bool(c.case.options.get("keepDimensions", False))
    kind = REDUCTIONS[c.case.operator]
    return c.node(kind, c.case.arguments["input"], axes, keepdims=keep, noop_with_empty_axes=1)


def _clamp(c: Converter) -> str:
    dtype = c.operand("input").dtype
    limits = [c.case.options.get(name) for name in ("minValue", "maxValue")]
    bounds = ["" if each is None else c.constant(read_number(each), dtype) for each in limits]
    return c.node("Clip", c.case.arguments["input"], *bounds)


def _cast(c: Converter) -> str:
    from onnx import helper

    to = helper.np_dtype_to_tensor_dtype(np.dtype(c.case.arguments["type"]))
    return c.node("Cast", c.case.arguments["input"], to=to)


def _concat(c: Converter) -> str:
    return c.node("Concat", *c.case.arguments["inputs"], axis=c.case.arguments["axis"])


def _reshape(c: Converter) -> str:
    return c.node(c.case.operator.capitalize(), c.case.arguments["input"], c.constant(c.case.arguments["newShape"]))


def _transpose(c: Converter) -> str:
    rank = c.operand("input").ndim
    order = c.case.options.get("permutation", list(range(rank))[::-1])
    return c.transpose(c.case.arguments["input"], order)


def _activation(kind: str, **defaults: float) -> Rule:
    """Return a rule for an operator with float attributes."""

    def rule(c: Converter) -> str:
        given: dict[str, Any] = {
            name: float(read_number(c.case.options.get(name, value))) for name, value in defaults.items()
        }
        return c.node(kind, c.case.arguments["input"], **given)

    return rule


def _linear(c: Converter) -> str:
    dtype = c.operand("input").dtype
    alpha, beta = (read_number(c.case.options.get(name, value)) for name, value in (("alpha", 1), ("beta", 0)))
    product = c.node("Mul", c.case.arguments["input"], c.constant(alpha, dtype))
    return c.node("Add", product, c.constant(beta, dtype))


def _softmax(c: Converter) -> str:
    return c.node("Softmax", c.case.arguments["input"], axis=c.case.arguments["axis"])


def _gather(c: Converter) -> str:
    """Gather; an index out of range means the nearest one in range."""
    from onnx import TensorProto

    axis = c.case.options.get("axis", 0)
    size = c.operand("input").shape[axis]
    indices = c.node("Cast", c.case.arguments["indices"], to=TensorProto.INT64)
    if c.operand("indices").size:
        indices = c.node("Clip", indices, c.constant(-size), c.constant(size - 1))
    return c.node("Gather", c.case.arguments["input"], indices, axis=axis)


def _slice(c: Converter) -> str:
    starts, sizes = c.case.arguments["starts"], c.case.arguments["sizes"]
    if not starts:
        return str(c.case.arguments["input"])
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    steps = c.case.options.get("strides", [1] * len(starts))
    numbers = (starts, ends, list(range(len(starts))), steps)
    return c.node("Slice", c.case.arguments["input"], *map(c.constant, numbers))


def _split(c: Converter) -> None:
    splits, axis = c.case.arguments["splits"], c.case.options.get("axis", 0)
    size = c.operand("input").shape[axis]
    sizes = splits if isinstance(splits, list) else [size // splits] * splits
    c.node("Split", c.case.arguments["input"], c.constant(sizes), outputs=list(c.case.outputs), axis=axis)


def _batch_normalization(c: Converter) -> str:
    """Subtract the mean first, as WebNN defines it: a folded product and sum would cancel digits."""
    x, axis, a, o = c.operand("input"), c.case.options.get("axis", 1), c.case.arguments, c.case.options
    shape = c.constant([-1] + [1] * (x.ndim - axis - 1))

    def along(name: str) -> str:
        return c.node("Reshape", name, shape)

    epsilon = c.constant(o.get("epsilon", 1e-5), x.dtype)
    deviation = c.node("Sqrt", c.node("Add", along(a["variance"]), epsilon))
    found = c.node("Div", c.node("Sub", a["input"], along(a["mean"])), deviation)
    for kind, name in (("Mul", "scale"), ("Add", "bias")):
        if name in o:
            found = c.node(kind, found, along(o[name]))
    return found


def _scale_and_bias(c: Converter, channels: int) -> list[str]:
    dtype = c.operand("input").dtype
    return [
        c.case.options.get(name) or c.constant(np.full(channels, value), dtype)
        for name, value in (("scale", 1), ("bias", 0))
    ]


def _instance_normalization(c: Converter) -> str:
    layout = input_layout(c.case)
    channels = c.operand("input").shape[layout.index("c")]
    x = c.transpose(c.case.arguments["input"], [layout.index(each) for each in "nchw"])
    epsilon = float(c.case.options.get("epsilon", 1e-5))
    found = c.node("InstanceNormalization", x, *_scale_and_bias(c, channels), epsilon=epsilon)
    return c.transpose(found, ["nchw".index(each) for each in layout])


def _layer_normalization(c: Converter) -> str:
    """Move the normalized axes to the end, in the order of scale and bias."""
    shape = c.operand("input").shape
    axes = c.case.options.get("axes", list(range(1, len(shape))))
    if not axes:
        return _normalize_single_elements(c)
    order = [i for i in range(len(shape)) if i not in axes] + list(axes)
    x = c.transpose(c.case.arguments["input"], order)
    scale = c.case.options.get("scale") or c.constant(np.ones([shape[i] for i in axes]), c.operand("input").dtype)
    bias = [c.case.options["bias"]] if "bias" in c.case.options else []
    epsilon = float(c.case.options.get("epsilon", 1e-5))
    found = c.node("LayerNormalization", x, scale, *bias, axis=-len(axes), epsilon=epsilon)
    return c.transpose(found, np.argsort(order).tolist())


def _normalize_single_elements(c: Converter) -> str:
    """Each element is its own mean, so 0 times the scale, plus the bias, remains."""
    found = c.node("Sub", c.case.arguments["input"], c.case.arguments["input"])
    for kind, name in (("Mul", "scale"), ("Add", "bias")):
        if name in c.case.options:
            found = c.node(kind, found, c.case.options[name])
    return found


def _convolution(c: Converter) -> str:
    case, o = c.case, c.case.options
    transposed = case.operator == "convTranspose2d"
    image, layout, wanted = input_layout(case), filter_layout(case), "iohw" if transposed else "oihw"
    x = c.transpose(case.arguments["input"], [image.index(each) for each in "nchw"])
    weights = c.transpose(case.arguments["filter"], [layout.index(each) for each in wanted])
    top, bottom, left, right = o.get("padding", [0] * 4)
    attributes = {
        "pads": [top, left, bottom, right],
        "strides": o.get("strides", [1, 1]),
        "dilations": o.get("dilations", [1, 1]),
        "group": o.get("groups", 1),
    }
    if transposed:
        attributes["output_padding"] = _output_padding(c, attributes)
    bias = [o["bias"]] if "bias" in o else []
    found = c.node("ConvTranspose" if transposed else "Conv", x, weights, *bias, **attributes)
    return c.transpose(found, ["nchw".index(each) for each in image])


def _output_padding(c: Converter, attributes: dict[str, Any]) -> list[int]:
    sizes = c.case.options.get("outputSizes")
    if sizes is None:
        return list(c.case.options.get("outputPadding", [0, 0]))
    image, layout = input_layout(c.case), filter_layout(c.case)
    found = []
    for i, axis in enumerate("hw"):
        size, window = c.operand("input").shape[image.index(axis)], c.operand("filter").shape[layout.index(axis)]
        covered = attributes["strides"][i] * (size - 1) + (window - 1) * attributes["dilations"][i] + 1
        found.append(sizes[i] - covered + attributes["pads"][i] + attributes["pads"][i + 2])
    return found


RULES: dict[str, Rule] = {
    **dict.fromkeys(SAME, _same),
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(LOGICAL, _logical),
    **dict.fromkeys(REDUCTIONS, _reduction),
    "batchNormalization": _batch_normalization,
    "cast": _cast,
    "clamp": _clamp,
    "concat": _concat,
    "conv2d": _convolution,
    "convTranspose2d": _convolution,
    "elu": _activation("Elu", alpha=1),
    "expand": _reshape,
    "gather": _gather,
    "hardSigmoid": _activation("HardSigmoid", alpha=0.2, beta=0.5),
    "instanceNormalization": _instance_normalization,
    "layerNormalization": _layer_normalization,
    "leakyRelu": _activation("LeakyRelu", alpha=0.01),
    "linear": _linear,
    "reshape": _reshape,
    "slice": _slice,
    "softmax": _softmax,
    "split": _split,
    "transpose": _transpose,
}
