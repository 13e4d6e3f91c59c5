"""Files that the libraries of their formats quantize."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, Mistake, OpFailedError
from nnapi.model.operand import Array
from nnapi.quantizers import Scheme, quantize_file

LIBRARIES = {".tflite": "ai_edge_quantizer", ".onnx": "onnxruntime"}


class RandomSamples:
    def __init__(self, *shapes: tuple[int, ...], count: int = 6) -> None:
        self._shapes, self._count = shapes, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[Array]]:
        generator = np.random.default_rng(5)
        for _ in range(self._count):
            yield [generator.uniform(-1, 1, shape).astype(np.float32) for shape in self._shapes]


def make_file(path: Path) -> Path:
    """A convolution and a fully connected layer."""
    generator = np.random.default_rng(3)
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (1, 6, 6, 2)), name="x")
    filters = generator.normal(size=(4, 3, 3, 2)).astype(np.float32)
    y = builder.conv_2d(x, filters, np.ones(4, np.float32), 1, 1, 1, 1, 1, 1, "relu")
    weights = generator.normal(size=(5, 144)).astype(np.float32)
    builder.output(builder.fully_connected(y, weights, np.zeros(5, np.float32), name="scores"))
    nnapi.export(builder.finish(), path)
    return path


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_a_static_file_computes_with_integers(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[suffix])
    file, target = make_file(tmp_path / f"float{suffix}"), tmp_path / f"quantized{suffix}"
    target.write_bytes(quantize_file(file, Scheme.STATIC, RandomSamples((1, 6, 6, 2))))
    exact, quantized = nnapi.load(file), nnapi.load(target)
    convolution = next(call for call in quantized.operations if call.name == "CONV_2D")
    assert quantized.operands[convolution.outputs[0]].type.code == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
    (x,) = next(iter(RandomSamples((1, 6, 6, 2))))
    (right,) = nnapi.compile(exact, "nnapi-reference").run(x)
    input, output = (quantized.operands[each[0]].type for each in (quantized.inputs, quantized.outputs))
    (found,) = nnapi.compile(quantized, "nnapi-reference").run(nnapi.quantize(input, x))
    found = nnapi.dequantize(output, found) if output.is_quantized else found
    assert np.abs(found - right).max() < 0.15 * np.abs(right).max()


@pytest.mark.parametrize(
    ("suffix", "scheme"),
    [
        (".tflite", Scheme.DYNAMIC),
        (".tflite", Scheme.WEIGHTS),
        (".tflite", Scheme.STATIC_16),
        (".onnx", Scheme.DYNAMIC),
    ],
)
def test_other_schemes_round_weights(suffix: str, scheme: Scheme, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[suffix])
    file, target = make_file(tmp_path / f"float{suffix}"), tmp_path / f"quantized{suffix}"
    target.write_bytes(quantize_file(file, scheme, RandomSamples((1, 6, 6, 2))))
    quantized = nnapi.load(target, int16_as_float=scheme is Scheme.STATIC_16)
    (x,) = next(iter(RandomSamples((1, 6, 6, 2))))
    (right,) = nnapi.compile(nnapi.load(file), "nnapi-reference").run(x)
    (found,) = nnapi.compile(quantized, "nnapi-reference").run(x)
    off = np.abs(found - right).max() / np.abs(right).max()
    assert 1e-5 < off < 0.03


def test_several_inputs_keep_their_order(tmp_path: Path) -> None:
    """The second input is 100 times as large, which its scale shows."""
    pytest.importorskip("ai_edge_quantizer")
    builder = nnapi.Builder()
    a, b = (builder.input(nnapi.tensor("float32", (2, 3)), name=name) for name in ("z", "a"))
    builder.output(builder.mul(a, b, name="product"))
    nnapi.export(builder.finish(), file := tmp_path / "two.tflite")

    class Scaled(RandomSamples):
        def __iter__(self) -> Iterator[list[Array]]:
            return ([x, 100 * y] for x, y in super().__iter__())

    (tmp_path / "out.tflite").write_bytes(quantize_file(file, Scheme.STATIC, Scaled((2, 3), (2, 3))))
    quantized = nnapi.load(tmp_path / "out.tflite")
    small, large = (quantized.operands[index].type.scale for index in quantized.inputs)
    assert large > 50 * small


def test_a_file_with_old_operator_codes(tmp_path: Path) -> None:
    """Files of schema 3 have only `deprecated_builtin_code`; the quantizer would take every operator for ADD."""
    pytest.importorskip("ai_edge_quantizer")
    from ai_edge_litert.tools import flatbuffer_utils

    file = make_file(tmp_path / "float.tflite")
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(file.read_bytes()))
    for code in model.operatorCodes:
        code.deprecatedBuiltinCode, code.builtinCode = code.builtinCode, 0
    model.signatureDefs = None
    file.write_bytes(flatbuffer_utils.convert_object_to_bytearray(model))
    (tmp_path / "out.tflite").write_bytes(quantize_file(file, Scheme.STATIC, RandomSamples((1, 6, 6, 2))))
    quantized = nnapi.load(tmp_path / "out.tflite")
    (convolution,) = (call for call in quantized.operations if call.name == "CONV_2D" and call.number < 2)
    filter = quantized.operands[convolution.inputs[1]].type
    assert filter.code == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL


def test_samples_are_read_once_and_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of one call, whose samples would all be in memory."""
    pytest.importorskip("ai_edge_quantizer")
    import nnapi.quantizers.tflite

    file = make_file(tmp_path / "float.tflite")
    read: list[int] = []

    class Counted(RandomSamples):
        def __iter__(self) -> Iterator[list[Array]]:
            for number, arrays in enumerate(super().__iter__()):
                read.append(number)
                yield arrays

    written = []
    for at_once in (100, 2):
        read.clear()
        monkeypatch.setattr(nnapi.quantizers.tflite, "AT_ONCE", at_once)
        written.append(quantize_file(file, Scheme.STATIC, Counted((1, 6, 6, 2), count=5)))
        assert read == [0, 1, 2, 3, 4]
    assert written[0] == written[1]


def test_schemes_that_a_format_lacks(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="x.onnx: .onnx files have the schemes static and dynamic"):
        quantize_file(tmp_path / "x.onnx", Scheme.WEIGHTS, RandomSamples((1,)))
    with pytest.raises(BadDataError, match="x.pt: .tflite and .onnx files can be quantized"):
        quantize_file(tmp_path / "x.pt", Scheme.STATIC, RandomSamples((1,)))


def test_an_error_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nnapi.quantizers.tflite

    def fail(*arguments: object) -> bytes:
        raise ValueError("no\nscale")

    monkeypatch.setattr(nnapi.quantizers.tflite, "quantize", fail)
    with pytest.raises(OpFailedError, match="the quantizer refuses x.tflite: no scale"):
        quantize_file(tmp_path / "x.tflite", Scheme.STATIC, RandomSamples((1,)))


def test_float16_tensors(tmp_path: Path) -> None:
    """The quantizer would fail with an AttributeError."""
    pytest.importorskip("ai_edge_quantizer")
    builder = nnapi.Builder()
    builder.output(builder.relu(builder.input(nnapi.tensor("float16", (2,)))))
    nnapi.export(builder.finish(), file := tmp_path / "half.tflite")
    with pytest.raises(BadDataError, match="it has float16 tensors, .* nnapi export MODEL -o COPY.tflite writes them"):
        quantize_file(file, Scheme.STATIC, RandomSamples((2,)))


def test_a_mistake_in_a_sample_is_not_the_quantizer_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nnapi.quantizers.tflite

    def fail(*arguments: object) -> bytes:
        raise Mistake("a.npy has no values")

    monkeypatch.setattr(nnapi.quantizers.tflite, "quantize", fail)
    with pytest.raises(Mistake, match="a.npy has no values"):
        quantize_file(tmp_path / "x.tflite", Scheme.STATIC, RandomSamples((1,)))


def test_logging_is_as_before(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    import nnapi.quantizers.onnx

    before = logging.root.manager.disable
    file = make_file(tmp_path / "float.onnx")
    nnapi.quantizers.onnx.quantize(file, Scheme.DYNAMIC, RandomSamples((1, 6, 6, 2)))
    assert logging.root.manager.disable == before


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_a_missing_library(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"x{suffix}").touch()
    monkeypatch.setitem(sys.modules, LIBRARIES[suffix], None)
    with pytest.raises(ModuleNotFoundError, match=LIBRARIES[suffix]):
        quantize_file(tmp_path / f"x{suffix}", Scheme.STATIC, RandomSamples((1,)))
