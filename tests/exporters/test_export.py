"""Models written as .tflite: what LiteRT computes of the file, what the importer reads back, what is refused."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.model.builder import Tensor
from nnapi.model.operand import Shape
from tests.disk_cases import full_disk
from tests.importers.tflite.against_litert import Case, litert, random_array
from tests.tflite_writer import T, const, f32, i32, s8, single, u8


def there_and_back(content: bytes, folder: Path) -> tuple[nnapi.Model, nnapi.Model, bytes]:
    """A file's model, the model of what that is exported to, and the exported file."""
    (folder / "given.tflite").write_bytes(content)
    model = nnapi.load(folder / "given.tflite")
    nnapi.export(model, folder / "written.tflite")
    return model, nnapi.load(folder / "written.tflite"), (folder / "written.tflite").read_bytes()


def named(model: nnapi.Model) -> list[str]:
    return [model.operands[index].name for index in (*model.inputs, *model.outputs)]


FILTER = s8(4, 3, 3, 2, scale=(0.1, 0.2, 0.3, 0.4), zero_point=0, axis=0).of(np.arange(72).reshape(4, 3, 3, 2) - 36)
BIAS = T("INT32", (4,), scale=(0.05, 0.1, 0.15, 0.2), zero_point=0, axis=0).of(np.arange(4))
CASES = [
    Case("ADD", [f32(2, 3), f32(3)], f32(2, 3), "AddOptions", {"FusedActivationFunction": 1}),
    Case("ADD", [u8(2, 3), u8(3)], u8(2, 3), "AddOptions"),
    Case("MUL", [s8(2, 3), s8(2, 3)], s8(2, 3), "MulOptions"),
    Case("LOGISTIC", [f32(2, 3)], f32(2, 3)),
    Case("RELU_N1_TO_1", [f32(2, 3)], f32(2, 3)),
    Case("LESS", [f32(2, 3), f32(3)], T("BOOL", (2, 3))),
    Case("SOFTMAX", [f32(2, 5)], f32(2, 5), "SoftmaxOptions", {"Beta": 1.0}),
    Case("CONCATENATION", [f32(2, 3), f32(2, 1)], f32(2, 4), "ConcatenationOptions", {"Axis": 1}),
    Case("TRANSPOSE", [f32(2, 3), const([1, 0])], f32(3, 2)),
    Case("PAD", [f32(2, 3), const([[1, 0], [0, 2]])], f32(3, 5)),
    Case("MEAN", [f32(2, 3, 4), const([1])], f32(2, 4), "ReducerOptions"),
    Case("ARG_MAX", [f32(2, 5), const([1])], i32(2), "ArgMaxOptions", {"OutputType": 2}),
    Case(
        "CONV_2D",
        [s8(1, 5, 5, 2), FILTER, BIAS],
        s8(1, 5, 5, 4),
        "Conv2DOptions",
        {"StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1},
    ),
    Case(
        "MAX_POOL_2D",
        [u8(1, 5, 5, 2)],
        u8(1, 3, 3, 2),
        "Pool2DOptions",
        {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2},
    ),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=str)
def test_litert_computes_the_same_of_what_is_written(case: Case, tmp_path: Path) -> None:
    given, read, written = there_and_back(case.content(), tmp_path)
    rng = np.random.default_rng(3)
    inputs = [random_array(each, case, rng) for each in case.inputs if each is not None and each.data is None]
    for ours, theirs in zip(litert(written, inputs), litert(case.content(), inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [call.code for call in read.operations] == [call.code for call in given.operations]
    assert named(read) == named(given)
    for a, b in zip(read.operations, given.operations, strict=True):
        assert [read.operands[i].type for i in a.outputs] == [given.operands[i].type for i in b.outputs]


def cast_integers(builder: nnapi.Builder, x: Tensor, y: Tensor) -> Tensor:
    return builder.cast(builder.mul(x, y), out=nnapi.tensor("quant8_asymm", x.shape, 1.0))


def multiply_turned(builder: nnapi.Builder, x: Tensor, y: Tensor) -> Tensor:
    return builder.batch_matmul(x, y, True, True)


def multiply(builder: nnapi.Builder, x: Tensor, y: Tensor) -> Tensor:
    return builder.batch_matmul(x, y, False, False)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (cast_integers, [(2, 9), (2, 9)]),
        (multiply, [(2, 3), (3, 4)]),
        (multiply, [(2, 1, 3), (2, 3, 1)]),
        (multiply_turned, [(2, 2, 3, 2), (2, 2, 4, 3)]),
    ],
)
def test_integers_are_written_for_litert(make: Callable[..., Tensor], shapes: list[Shape], tmp_path: Path) -> None:
    """TFLite's own operators drop what a byte cannot hold, and multiply no matrices of 32 bits."""
    builder = nnapi.Builder()
    builder.output(
        make(builder, *(builder.input(nnapi.tensor("int32", shape), "xy"[i]) for i, shape in enumerate(shapes)))
    )
    model, path, rng = builder.finish(), tmp_path / "written.tflite", np.random.default_rng(3)
    nnapi.export(model, path)
    inputs = [rng.integers(-50, 50, shape).astype(np.int32) for shape in shapes]
    expected = nnapi.compile(model, "nnapi-reference").run(*inputs)
    for found in litert(path.read_bytes(), inputs), nnapi.compile(nnapi.load(path), "nnapi-reference").run(*inputs):
        np.testing.assert_array_equal(found, expected)


def test_a_long_product_of_integers_is_refused(tmp_path: Path) -> None:
    builder = nnapi.Builder()
    builder.output(multiply(builder, *(builder.input(nnapi.tensor("int32", each)) for each in ((2, 300), (300, 2)))))
    with pytest.raises(BadDataError, match=r"BATCH_MATMUL \(#0\): its 300 products of integers are too many"):
        nnapi.export(builder.finish(), tmp_path / "long.tflite")


def test_an_open_batch_stays_open(tmp_path: Path) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (0, 3)), "x")
    builder.output(builder.relu(x))
    nnapi.export(builder.finish(), tmp_path / "open.tflite")
    model = nnapi.load(tmp_path / "open.tflite")
    assert model.operands[model.inputs[0]].type.dimensions == (0, 3)


def test_a_failure_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        nnapi.export(nnapi.load(single("ABS", [f32(2)], f32(2))), path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]


def test_what_fails_while_it_is_written_leaves_the_old_file(tmp_path: Path) -> None:
    model, path = nnapi.load(single("ABS", [f32(2)], f32(2))), tmp_path / "out.tflite"
    nnapi.export(model, path)
    before = path.read_bytes()
    with full_disk(), pytest.raises(OSError, match="too large"):
        nnapi.export(model, path)
    assert path.read_bytes() == before
    with full_disk(), pytest.raises(OSError, match="too large"):
        nnapi.export(model, tmp_path / "new.tflite")
    assert list(tmp_path.iterdir()) == [path]


def test_the_suffix_says_the_format(tmp_path: Path) -> None:
    model = nnapi.load(single("ABS", [f32(2)], f32(2)))
    with pytest.raises(BadDataError, match="out.txt: models are written as .tflite or .onnx"):
        nnapi.export(model, tmp_path / "out.txt")


@pytest.mark.shared
@pytest.mark.engine
@pytest.mark.parametrize("name", ["mobilenet_v1_0.25_128_quant", "tiny_kws_int8", "blazeface_front_float"])
def test_a_network_computes_the_same(name: str, shared: Path, tmp_path: Path) -> None:
    content = (shared / "models" / f"{name}.tflite").read_bytes()
    model, _, written = there_and_back(content, tmp_path)
    rng = np.random.default_rng(1)
    types = [model.operands[index].type for index in model.inputs]
    inputs = [
        rng.uniform(-1, 1, [size or 1 for size in type.dimensions]).astype(type.dtype)
        if type.dtype.kind == "f"
        else rng.integers(-100 if type.dtype == np.int8 else 0, 100, [size or 1 for size in type.dimensions]).astype(
            type.dtype
        )
        for type in types
    ]
    for ours, theirs in zip(litert(written, inputs), litert(content, inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)
