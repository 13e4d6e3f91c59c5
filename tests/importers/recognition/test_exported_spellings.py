"""Composites as exporters write them: the nodes of PyTorch's two exporters, tf2onnx and Keras, and of .tflite files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as O
from nnapi.importers.recognition import activation, attention, normalization  # noqa: F401  (their patterns)
from nnapi.model.model import Model
from nnapi.operation_codes import CompositeCode as C
from tests.tflite_writer import Graph, T, const, f32, write

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

N = helper.make_node
RANDOM = np.random.default_rng(11)
Nodes = list[Any]


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


SCALARS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "half": 0.5,
    "root2": 2**0.5,
    "cubic": 0.044715,
    "spread": 0.7978845608,
    "eps": 1e-5,
    "eighth": 0.125,
    "eight": 8,
    "fourth": 0.35355338,
    "low": -1e9,
}
CONSTANTS: dict[str, Any] = {
    **{name: np.float32(value) for name, value in SCALARS.items()},
    "gamma": normal(16),
    "beta": normal(16),
    "last": np.array([-1]),
    "begin": np.array([0]),
    "middle": np.array([32]),
    "end": np.array([2**62]),
    "axis3": np.array([3]),
    "cos": normal(1, 1, 5, 64),
    "sin": normal(1, 1, 5, 64),
    "shape": np.array([2, 5, 2, 64]),
    "joined": np.array([2, 5, 128]),
    "mask": np.array([[1, 1, 1, 0, 1]], np.float32),
}
ERF = [N("Erf", ["a"], ["b"]), N("Add", ["b", "one"], ["c"])]
MEAN = [N("ReduceMean", ["x", "last"], ["m"]), N("Sub", ["x", "m"], ["c"])]
SQRT = [N("ReduceMean", ["s", "last"], ["v"]), N("Add", ["v", "eps"], ["w"]), N("Sqrt", ["w"], ["d"])]
AFFINE = [N("Mul", ["n", "gamma"], ["g"]), N("Add", ["g", "beta"], ["y"])]


def divide(x: str, name: str, perm: list[int]) -> Nodes:
    return [N("Reshape", [x, "shape"], [f"{name}0"]), N("Transpose", [f"{name}0"], [name], perm=perm)]


HEADS = divide("x", "q", [0, 2, 1, 3]) + divide("x", "v", [0, 2, 1, 3])
MERGED = [N("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]), N("Reshape", ["t", "joined"], ["y"])]
MASKED = [
    N("Unsqueeze", ["mask", "ones"], ["m1"]),
    N("Sub", ["one", "m1"], ["m2"]),
    N("Mul", ["m2", "low"], ["bias"]),
]
CONSTANTS["ones"] = np.array([1, 2])

SPELLINGS: dict[str, tuple[C, tuple[int, ...], Nodes]] = {
    "GELU of torch.onnx": (
        C.GELU,
        (2, 7, 16),
        [N("Div", ["x", "root2"], ["a"]), *ERF, N("Mul", ["x", "c"], ["d"]), N("Mul", ["d", "half"], ["y"])],
    ),
    "GELU of tf2onnx": (
        C.GELU,
        (2, 7, 16),
        [N("Div", ["x", "root2"], ["a"]), *ERF, N("Mul", ["half", "c"], ["d"]), N("Mul", ["x", "d"], ["y"])],
    ),
    "GELU by tanh of torch.onnx": (
        C.GELU,
        (2, 7, 16),
        [
            N("Mul", ["x", "x"], ["a"]),
            N("Mul", ["x", "a"], ["b"]),
            N("Mul", ["cubic", "b"], ["d"]),
            N("Add", ["x", "d"], ["e"]),
            N("Mul", ["spread", "e"], ["f"]),
            N("Tanh", ["f"], ["g"]),
            N("Add", ["one", "g"], ["h"]),
            N("Mul", ["half", "x"], ["i"]),
            N("Mul", ["i", "h"], ["y"]),
        ],
    ),
    "GELU by tanh of tf2onnx": (
        C.GELU,
        (2, 7, 16),
        [
            N("Pow", ["x", "three"], ["a"]),
            N("Mul", ["a", "cubic"], ["d"]),
            N("Add", ["x", "d"], ["e"]),
            N("Mul", ["e", "spread"], ["f"]),
            N("Tanh", ["f"], ["g"]),
            N("Add", ["g", "one"], ["h"]),
            N("Mul", ["h", "half"], ["i"]),
            N("Mul", ["x", "i"], ["y"]),
        ],
    ),
    "MISH of torch.onnx": (
        C.MISH,
        (2, 7, 16),
        [N("Softplus", ["x"], ["a"]), N("Tanh", ["a"], ["b"]), N("Mul", ["x", "b"], ["y"])],
    ),
    "layer normalization of torch.onnx": (
        C.LAYER_NORM,
        (2, 7, 16),
        [*MEAN, N("Pow", ["c", "two"], ["s"]), *SQRT, N("Div", ["c", "d"], ["n"]), *AFFINE],
    ),
    "layer normalization of tf2onnx": (
        C.LAYER_NORM,
        (2, 7, 16),
        [
            *MEAN,
            N("Mul", ["c", "c"], ["s"]),
            *SQRT,
            N("Reciprocal", ["d"], ["r"]),
            N("Mul", ["r", "gamma"], ["f"]),
            N("Mul", ["x", "f"], ["n"]),
            N("Mul", ["m", "f"], ["o"]),
            N("Sub", ["beta", "o"], ["p"]),
            N("Add", ["n", "p"], ["y"]),
        ],
    ),
    "root mean square of torch.onnx": (
        C.RMS_NORM,
        (2, 7, 16),
        [
            N("Pow", ["x", "two"], ["s"]),
            *SQRT,
            N("Div", ["one", "d"], ["r"]),
            N("Mul", ["x", "r"], ["n"]),
            N("Mul", ["gamma", "n"], ["y"]),
        ],
    ),
    "root mean square of the exporter of torch.export": (
        C.RMS_NORM,
        (2, 7, 16),
        [
            N("Mul", ["x", "x"], ["s"]),
            *SQRT,
            N("Reciprocal", ["d"], ["r"]),
            N("Mul", ["x", "r"], ["n"]),
            N("Mul", ["n", "gamma"], ["y"]),
        ],
    ),
    "BERT's attention of torch.onnx": (
        C.ATTENTION,
        (2, 5, 128),
        [
            *HEADS,
            *divide("x", "k", [0, 2, 3, 1]),
            *MASKED,
            N("MatMul", ["q", "k"], ["a"]),
            N("Div", ["a", "eight"], ["b"]),
            N("Add", ["b", "bias"], ["c"]),
            N("Softmax", ["c"], ["d"], axis=-1),
            N("MatMul", ["d", "v"], ["o"]),
            *MERGED,
        ],
    ),
    "scaled_dot_product_attention of the exporter of torch.export": (
        C.ATTENTION,
        (2, 5, 128),
        [
            *HEADS,
            *divide("x", "k0", [0, 2, 1, 3]),
            N("Transpose", ["k0"], ["k1"], perm=[0, 1, 3, 2]),
            N("Mul", ["q", "fourth"], ["q1"]),
            N("Mul", ["k1", "fourth"], ["k"]),
            N("MatMul", ["q1", "k"], ["a"]),
            N("Softmax", ["a"], ["d"], axis=-1),
            N("MatMul", ["d", "v"], ["o"]),
            *MERGED,
        ],
    ),
    "attention of tf2onnx": (
        C.ATTENTION,
        (2, 5, 128),
        [
            *HEADS,
            *divide("x", "k", [0, 2, 3, 1]),
            *MASKED,
            N("Mul", ["q", "eighth"], ["q1"]),
            N("MatMul", ["q1", "k"], ["a"]),
            N("Add", ["bias", "a"], ["c"]),
            N("Softmax", ["c"], ["d"], axis=3),
            N("MatMul", ["d", "v"], ["o"]),
            *MERGED,
        ],
    ),
    "rotary embedding of torch.onnx": (
        C.ROTARY_EMBEDDING,
        (1, 2, 5, 64),
        [
            N("Mul", ["x", "cos"], ["a"]),
            N("Slice", ["x", "begin", "middle", "axis3"], ["b"]),
            N("Slice", ["x", "middle", "end", "axis3"], ["c"]),
            N("Neg", ["c"], ["d"]),
            N("Concat", ["d", "b"], ["e"], axis=-1),
            N("Mul", ["e", "sin"], ["f"]),
            N("Add", ["a", "f"], ["y"]),
        ],
    ),
    "rotary embedding of the exporter of torch.export": (
        C.ROTARY_EMBEDDING,
        (1, 2, 5, 64),
        [
            N("Split", ["x"], ["b", "c"], axis=-1, num_outputs=2),
            N("Neg", ["c"], ["d"]),
            N("Concat", ["d", "b"], ["e"], axis=-1),
            N("Mul", ["x", "cos"], ["a"]),
            N("Mul", ["e", "sin"], ["f"]),
            N("Add", ["f", "a"], ["y"]),
        ],
    ),
}


def make_file(nodes: Nodes, shape: tuple[int, ...]) -> bytes:
    used = {name for node in nodes for name in node.input}
    held = [numpy_helper.from_array(np.asarray(CONSTANTS[name]), name) for name in sorted(used & set(CONSTANTS))]
    given = helper.make_tensor_value_info("x", 1, shape)
    result = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph(nodes, "g", [given], [result], held)
    opsets = [helper.make_opsetid("", 18)]
    content: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return content


def run(model: Model, *inputs: Any) -> Any:
    return nnapi.compile(model, "nnapi-reference").run(*inputs)[0]


MOVING = {O.RESHAPE, O.TRANSPOSE}


@pytest.mark.parametrize("name", SPELLINGS)
def test_files_of_exporters_have_the_composite(name: str) -> None:
    code, shape, nodes = SPELLINGS[name]
    model, x = nnapi.load(make_file(nodes, shape)), normal(*shape)
    assert {call.code for call in model.operations} - MOVING == {code}
    found = run(model, x)
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(make_file(nodes, shape), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(found, session.run(None, {"x": x})[0], 1e-5, 1e-5)


def number(value: float) -> T:
    return const([value], "FLOAT32")


def norm_of_keras(x: T, y: T) -> Graph:
    """Keras' LayerNormalization: moments, then a scale and a shift that include gamma and beta."""
    mean, square, variance, total, root, scale, first, second, rest = (
        f32(2, 7, 16) if wide else f32(2, 7, 1) for wide in (0, 1, 0, 0, 0, 1, 1, 1, 1)
    )
    axes, gamma, beta = const([2]), const(CONSTANTS["gamma"], "FLOAT32"), const(CONSTANTS["beta"], "FLOAT32")
    graph = Graph().operator("MEAN", [x, axes], [mean], "ReducerOptions", KeepDims=True)
    graph.operator("SQUARED_DIFFERENCE", [x, mean], [square])
    graph.operator("MEAN", [square, axes], [variance], "ReducerOptions", KeepDims=True)
    graph.operator("ADD", [variance, number(1e-3)], [total]).operator("RSQRT", [total], [root])
    graph.operator("MUL", [root, gamma], [scale]).operator("MUL", [x, scale], [first])
    graph.operator("MUL", [mean, scale], [second]).operator("SUB", [beta, second], [rest])
    return graph.operator("ADD", [first, rest], [y])


def norm_of_litert_torch(x: T, y: T) -> Graph:
    """RMSNorm of litert-torch."""
    square, mean, total, root, scaled = (f32(2, 7, 16) if wide else f32(2, 7, 1) for wide in (1, 0, 0, 0, 1))
    graph = Graph().operator("MUL", [x, x], [square])
    graph.operator("MEAN", [square, const([2])], [mean], "ReducerOptions", KeepDims=True)
    graph.operator("ADD", [mean, number(1e-6)], [total]).operator("RSQRT", [total], [root])
    graph.operator("MUL", [x, root], [scaled])
    return graph.operator("MUL", [scaled, const(CONSTANTS["gamma"], "FLOAT32")], [y])


def rope_of_litert_torch(x: T, y: T) -> Graph:
    """The rotary embedding of litert-torch, whose cosines and sines are those of the pairs."""
    halves = [f32(2, 7, 8) for _ in range(2)]
    cos, sin = (const(CONSTANTS[name][0, 0, :1, :8], "FLOAT32") for name in ("cos", "sin"))
    graph = Graph().operator("SPLIT", [const(2), x], halves, "SplitOptions", NumSplits=2)
    products = [f32(2, 7, 8) for _ in range(4)]
    for (half, angles), product in zip([(0, cos), (1, sin), (1, cos), (0, sin)], products, strict=True):
        graph.operator("MUL", [halves[half], angles], [product])
    left, right = f32(2, 7, 8), f32(2, 7, 8)
    graph.operator("SUB", products[:2], [left]).operator("ADD", products[2:], [right])
    return graph.operator("CONCATENATION", [left, right], [y], "ConcatenationOptions", Axis=2)


def gelu_of_keras(x: T, y: T) -> Graph:
    """GELU by tanh."""
    cube, term, total, inner, curve, above, half = (f32(2, 7, 16) for _ in range(7))
    graph = Graph().operator("POW", [x, number(3)], [cube]).operator("MUL", [cube, number(0.044715)], [term])
    graph.operator("ADD", [x, term], [total]).operator("MUL", [total, number(0.7978846)], [inner])
    graph.operator("TANH", [inner], [curve]).operator("ADD", [curve, number(1)], [above])
    return graph.operator("MUL", [x, number(0.5)], [half]).operator("MUL", [half, above], [y])


def mish_of_keras(x: T, y: T) -> Graph:
    power, total, log, curve = (f32(2, 7, 16) for _ in range(4))
    graph = Graph().operator("EXP", [x], [power]).operator("ADD", [power, number(1)], [total])
    graph.operator("LOG", [total], [log]).operator("TANH", [log], [curve])
    return graph.operator("MUL", [x, curve], [y])


TFLITE = {
    C.LAYER_NORM: norm_of_keras,
    C.RMS_NORM: norm_of_litert_torch,
    C.ROTARY_EMBEDDING: rope_of_litert_torch,
    C.GELU: gelu_of_keras,
    C.MISH: mish_of_keras,
}


@pytest.mark.parametrize("code", TFLITE, ids=lambda code: code.name)
def test_tflite_files_have_the_composite(code: C, tmp_path: Path) -> None:
    x, y, given = f32(2, 7, 16), f32(2, 7, 16), normal(2, 7, 16)
    path = tmp_path / "spelled.tflite"
    path.write_bytes(write(TFLITE[code](x, y).between([x], [y])))
    model = nnapi.load(path)
    assert [call.code for call in model.operations] == [code]
    found = run(model, given)
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    interpreter = litert.Interpreter(str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_attention_whose_shares_are_an_output_stays_flat() -> None:
    _, shape, nodes = SPELLINGS["BERT's attention of torch.onnx"]
    proto = onnx.ModelProto.FromString(make_file(nodes, shape))
    proto.graph.output.append(helper.make_tensor_value_info("d", 1, None))
    model = nnapi.load(proto.SerializeToString())
    assert C.ATTENTION not in {call.code for call in model.operations}
    assert nnapi.compile(model, "nnapi-reference").run(normal(*shape))[1].shape == (2, 2, 5, 5)
