"""Operators of files that NNAPI writes out, and the engine has as one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.recompose import recompose
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, remove_dead_operators
from nnapi.runtime.device import Device, device
from tests.drivers.transformer_cases import GELUS, NODE, read
from tests.drivers.transformer_cases import X as ROWS
from tests.importers.tflite.against_litert import case
from tests.tflite_writer import T, f32, flags, i32

X = np.array(
    [
        -2.5,
        -1.5,
        -0.5,
        -0.0,
        0.0,
        0.5,
        1.5,
        2.5,
        0.49999997,
        8388607.5,
        1e7,
        -3e9,
        1e30,
        1e-45,
        -1e-45,
        np.inf,
        -np.inf,
    ],
    np.float32,
)


def load(kind: str, x: T, y: T, path: Path) -> nnapi.Model:
    file = path / "single.tflite"
    file.write_bytes(case(kind, [x], y, "CastOptions" if kind == "CAST" else None).content())
    return nnapi.load(file)


def kinds(graph: Graph) -> list[str]:
    return [operator.kind for operator in remove_dead_operators(recompose(graph)).operators]


def run(model: nnapi.Model, x: Any, which: Device | None = None) -> Any:
    return nnapi.compile(model, [which or Device(XnnpackDriver(threads=1))]).run(x)[0]


def number(value: float, type: str = "f32") -> Tensor:
    return Tensor(type, (1,), data=np.array([value], np.float32 if type == "f32" else np.int32))


@pytest.mark.engine
@pytest.mark.parametrize(("kind", "function"), [("ROUND", np.rint), ("SIGN", np.sign)])
def test_it_is_one_operator_with_the_same_numbers(kind: str, function: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0).normal(0, 100, 999).astype(np.float32)
    x = np.append(random, X)
    model = load(kind, f32(len(x)), f32(len(x)), tmp_path)
    assert kinds(lower_model(model).graph) == [kind]
    for which in (None, device("nnapi-reference")):
        np.testing.assert_array_equal(run(model, x, which), function(x))


@pytest.mark.engine
def test_truth_is_one_whatever_its_byte(tmp_path: Path) -> None:
    x = np.array([0, 1, 2, 128, 255], np.uint8)
    model = load("CAST", flags(5), f32(5), tmp_path)
    assert kinds(lower_model(model).graph) == ["CAST"]
    assert run(model, x).tolist() == [0, 1, 1, 1, 1]
    model = load("CAST", flags(5), i32(5), tmp_path)
    assert kinds(lower_model(model).graph) == ["SELECT"]  # the engine would give the bytes
    assert run(model, x).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("stored", "result", "kind"), [("INT8", i32(256), "CAST"), ("UINT8", f32(256), "DEQUANTIZE")], ids=str
)
def test_bytes_are_cast_at_once(stored: str, result: T, kind: str, tmp_path: Path) -> None:
    x = np.arange(256).astype(stored.lower())
    model = load("CAST", T(stored, (256,)), result, tmp_path)
    assert kinds(lower_model(model).graph) == [kind]
    np.testing.assert_array_equal(run(model, x), x)


def write_sign_out(zero: float = 0.0, below: float = -1.0) -> Graph:
    x, y, low = (Tensor("f32", (2, 3)) for _ in range(3))
    more, less = Tensor("bool", (2, 3)), Tensor("bool", (2, 3))
    one, none, minus, limit = map(number, (1, 0, below, zero))
    operators = [
        Operator("GREATER", [x, limit], [more]),
        Operator("LESS", [x, limit], [less]),
        Operator("SELECT", [less, minus, none], [low]),
        Operator("SELECT", [more, one, low], [y]),
    ]
    return Graph(operators, [x], [y])


def test_what_is_read_inside_is_still_computed() -> None:
    graph = write_sign_out()
    inner = Graph(graph.operators, graph.inputs, [*graph.outputs, graph.operators[1].output])
    assert kinds(inner) == ["LESS", "SIGN"]


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        (Tensor("i8", (4,), 1.0), Tensor("i32", (4,)), ["CAST"]),
        (Tensor("i8", (4,), 0.5), Tensor("i32", (4,)), ["DEQUANTIZE", "CAST"]),
        (Tensor("i8", (4,), 1.0, 1), Tensor("i32", (4,)), ["DEQUANTIZE", "CAST"]),
        (Tensor("u8", (4,), 1.0), Tensor("i32", (4,)), ["DEQUANTIZE", "CAST"]),
        (Tensor("i8", (4,), 1.0), Tensor("bool", (4,)), ["DEQUANTIZE", "CAST"]),
        (Tensor("i8", (4,), 1.0), Tensor("i32", (2, 2)), ["CAST", "RESHAPE"]),
    ],
)
def test_bytes_that_mean_themselves_are_cast_to_integers(x: Tensor, y: Tensor, found: list[str]) -> None:
    real = Tensor("f32", x.shape)
    assert kinds(Graph([Operator("DEQUANTIZE", [x], [real]), Operator("CAST", [real], [y])], [x], [y])) == found


@pytest.mark.parametrize(
    ("x", "y", "one", "zero", "found"),
    [
        ("bool", "f32", 1, 0, ["CAST"]),
        ("bool", "i32", 1, 0, ["SELECT"]),
        ("bool", "f32", 0, 1, ["SELECT"]),
        ("bool", "f32", 2, 0, ["SELECT"]),
        ("bool", "f32", 1, -1, ["SELECT"]),
        ("i32", "f32", 1, 0, ["SELECT"]),
    ],
)
def test_only_truth_is_cast(x: str, y: str, one: float, zero: float, found: list[str]) -> None:
    given, out = Tensor(x, (4,)), Tensor(y, (4,))
    select = Operator("SELECT", [given, number(one, y), number(zero, y)], [out])
    assert kinds(Graph([select], [given], [out])) == found


def test_a_sign_of_integers_stays() -> None:
    graph = write_sign_out()
    for tensor in graph.tensors():
        tensor.type = "i32" if tensor.type == "f32" else tensor.type
    assert kinds(graph) == ["GREATER", "LESS", "SELECT", "SELECT"]


def test_an_operator_with_an_activation_is_something_else() -> None:
    graph = write_sign_out()
    graph.operators[2].options["activation"] = 1
    assert "SIGN" not in kinds(graph)


def test_a_sign_of_two_inputs_is_none() -> None:
    graph = write_sign_out()
    graph.operators[1].inputs[0] = Tensor("f32", (2, 3))
    assert "SIGN" not in kinds(graph)


@pytest.mark.parametrize("numbers", [{"zero": 0.5}, {"below": -2.0}])
def test_other_numbers_are_something_else(numbers: dict[str, float]) -> None:
    assert kinds(write_sign_out()) == ["SIGN"]
    assert "SIGN" not in kinds(write_sign_out(**numbers))


def test_truth_that_was_computed_is_cast_to_integers_as_the_byte_it_is() -> None:
    x, y, truth = Tensor("f32", (4,)), Tensor("i32", (4,)), Tensor("bool", (4,))
    select = Operator("SELECT", [truth, number(1, "i32"), number(0, "i32")], [y])
    operators = [Operator("GREATER", [x, number(0)], [truth]), select]
    assert kinds(Graph(operators, [x], [y])) == ["GREATER", "CAST"]


@pytest.mark.engine
@pytest.mark.parametrize("name", GELUS)
def test_gelu_is_one_operator(name: str) -> None:
    model = read(GELUS[name], ROWS)
    assert kinds(lower_model(model).graph) == ["GELU"]
    np.testing.assert_allclose(run(model, ROWS), run(model, ROWS, device("nnapi-reference")), 1e-6, 3e-6)


@pytest.mark.engine
def test_gelu_of_reshaped_values_is_reshaped() -> None:
    reshape = NODE("Reshape", ["x", "shape"], ["z"])
    nodes = [reshape, NODE("Div", ["z", "root"], ["a"]), *GELUS["divided"][1:3], NODE("Mul", ["z", "c"], ["d"])]
    model = read([*nodes, GELUS["divided"][-1]], ROWS, shape=np.array([14, 16]))
    assert kinds(lower_model(model).graph) == ["GELU", "RESHAPE"]
    np.testing.assert_allclose(run(model, ROWS), run(model, ROWS, device("nnapi-reference")), 1e-6, 3e-6)


def test_another_factor_is_not_gelu() -> None:
    model = read(GELUS["divided"], ROWS, root=np.float32(1.5))
    assert "GELU" not in kinds(lower_model(model).graph)
