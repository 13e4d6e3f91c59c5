"""Operators of files that NNAPI writes out, and the engine has as one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.recompose import recompose
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, remove_dead_operators
from nnapi.runtime.device import Device
from tests.importers.tflite.against_litert import case
from tests.tflite_writer import T, f32, flags, i32


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


def test_truth_that_was_computed_is_cast_to_integers_as_the_byte_it_is() -> None:
    x, y, truth = Tensor("f32", (4,)), Tensor("i32", (4,)), Tensor("bool", (4,))
    select = Operator("SELECT", [truth, number(1, "i32"), number(0, "i32")], [y])
    operators = [Operator("GREATER", [x, number(0)], [truth]), select]
    assert kinds(Graph(operators, [x], [y])) == ["GREATER", "CAST"]
