"""Small models that the tests of the interpreter share."""

from __future__ import annotations

import numpy as np

from tests.tflite_writer import Graph, T, f32, flags, s8, single, write

rng = np.random.default_rng(7)
X, Y, SUM, OUT = (T("FLOAT32", (2, 3), name=name) for name in ("x", "y", "sum", "out"))


def two_steps() -> bytes:
    """(x + y) · y, in two operators."""
    graph = Graph().operator("ADD", [X, Y], [SUM], "AddOptions").operator("MUL", [SUM, Y], [OUT], "MulOptions")
    return write(graph.between([X, Y], [OUT]))


def dense(shape: tuple[int, int] = (1, 4)) -> bytes:
    x, y = s8(*shape), s8(shape[0], 2, scale=0.2)
    matrix = T("INT8", (2, 4), 0.1, 0, data=rng.integers(-127, 128, (2, 4)), name="matrix")
    bias = T("INT32", (2,), 0.05 * 0.1, 0, data=[3, -4])
    return single("FULLY_CONNECTED", [x, matrix, bias], y, "FullyConnectedOptions")


def misstated() -> bytes:
    """The file states other shapes than its operators give: a smaller one, and one of another rank."""
    x, small, flat = T("FLOAT32", (2, 4), name="x"), T("FLOAT32", (1, 4), name="y"), T("FLOAT32", (8,), name="z")
    return write(Graph().operator("RELU", [x], [small]).operator("TANH", [x], [flat]).between([x], [small, flat]))


def open_batch() -> bytes:
    x, y = T("FLOAT32", (1, 3), name="x", signature=(-1, 3)), T("FLOAT32", (1, 3), name="y", signature=(-1, 3))
    return single("TANH", [x], y)


def signatures() -> bytes:
    graphs = []
    for name, kind in (("add", "ADD"), ("multiply", "MUL")):
        a, b, c = (T("FLOAT32", (1,), name=f"{name}_{end}") for end in "abc")
        graph = Graph(signature=name).operator(kind, [a, b], [c], f"{kind.capitalize()}Options")
        graphs.append(graph.between([a, b], [c]))
    return write(*graphs)


def weights(*shape: int) -> T:
    return f32(*shape).of(rng.uniform(-0.5, 0.5, shape))


def svdf() -> bytes:
    state = T("FLOAT32", (2, 5 * 4), name="state", variable=True)
    x, y = T("FLOAT32", (2, 3), name="x"), T("FLOAT32", (2, 5), name="y")
    fields = {"Rank": 1, "FusedActivationFunction": 0}
    return single("SVDF", [x, weights(5, 3), weights(5, 4), weights(5), state], y, "SVDFOptions", **fields)


def whole_numbers() -> bytes:
    """64-bit numbers and truth values."""
    a, b, low = (T("INT64", (3,), name=name) for name in "abm")
    less = flags(3)
    graph = Graph().operator("MINIMUM", [a, b], [low], "MaximumMinimumOptions").operator("LESS", [a, b], [less])
    return write(graph.between([a, b], [low, less]))


def unsigned_bits() -> bytes:
    """Unsigned 32-bit numbers."""
    a, b, out = (T("UINT32", (3,), name=name) for name in ("a", "b", "out"))
    return write(Graph().operator("BITWISE_XOR", [a, b], [out]).between([a, b], [out]))


def one_signature() -> bytes:
    a, b, c = (T("FLOAT32", (1,), name=name) for name in "abc")
    return write(Graph(signature="add").operator("ADD", [a, b], [c], "AddOptions").between([a, b], [c]))
