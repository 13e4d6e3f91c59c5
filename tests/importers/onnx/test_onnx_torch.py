"""Networks that PyTorch exports: what ONNX Runtime computes, in float and through its quantizer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
quantization = pytest.importorskip("onnxruntime.quantization", reason="onnxruntime's quantizer is not installed")

import nnapi  # noqa: E402
from tests.importers.onnx.quantized_parts import Part, parts_of  # noqa: E402
from tests.importers.onnx.torch_cases import CASES, TorchCase, exported, sample  # noqa: E402

pytestmark = [pytest.mark.slow]  # importing and exporting take seconds each
U8, S8 = quantization.QuantType.QUInt8, quantization.QuantType.QInt8
STYLES = {
    "uint8": (U8, U8, False),
    "int8": (S8, S8, False),
    "int8 per channel": (S8, S8, True),
    "uint8 and int8 per channel": (U8, S8, True),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    """Every case as it was exported, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("torch")

    class Files(dict[tuple[str, bool], Path]):
        def __missing__(self, key: tuple[str, bool]) -> Path:
            self[key] = exported(CASES[key[0]], folder / f"{key[0]} {key[1]}.onnx", dynamo=key[1])
            return self[key]

    return Files()


def narrowed(array: Any) -> Any:
    return array.astype(np.int32) if array.dtype == np.int64 else array


def check_float(path: Path, case: TorchCase, device: str | None) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    model = nnapi.load(path)
    compiled = nnapi.compile(model, device) if device else nnapi.compile(model)
    for seed in range(2):
        x = sample(case, seed)
        ours, theirs = compiled.run(narrowed(x)), session.run(None, {"x": x})
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, 1e-4, 1e-4 * np.abs(other).max())


@pytest.mark.parametrize("dynamo", [False, True], ids=["script", "export"])
@pytest.mark.parametrize("name", CASES)
def test_float_on_the_reference(name: str, dynamo: bool, files: dict[tuple[str, bool], Path]) -> None:
    if dynamo:
        pytest.importorskip("onnxscript", reason="PyTorch's newer exporter needs onnxscript")
    check_float(files[name, dynamo], CASES[name], "nnapi-reference")


@pytest.mark.engine
@pytest.mark.parametrize("name", CASES)
def test_float_on_the_default_devices(name: str, files: dict[tuple[str, bool], Path]) -> None:
    check_float(files[name, False], CASES[name], None)


class Samples(quantization.CalibrationDataReader):  # type: ignore[name-defined,misc]
    def __init__(self, case: TorchCase) -> None:
        self.left: Iterator[Any] = (sample(case, seed) for seed in range(4))

    def get_next(self) -> dict[str, Any] | None:
        x = next(self.left, None)
        return None if x is None else {"x": x}


def quantized(path: Path, case: TorchCase, folder: Path, activations: Any, weights: Any, per_channel: bool) -> Path:
    logging.getLogger().setLevel(logging.ERROR)  # it advises a preparation by another tool
    quantization.quantize_static(
        path,
        folder / "quantized.onnx",
        Samples(case),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=activations,
        weight_type=weights,
        per_channel=per_channel,
        extra_options={"WeightSymmetric": weights == S8},
    )
    return folder / "quantized.onnx"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", CASES)
def test_each_quantized_operation_is_within_one_code(
    name: str, style: str, files: dict[tuple[str, bool], Path], tmp_path: Path
) -> None:
    path = quantized(files[name, False], CASES[name], tmp_path, *STYLES[style])
    parts = parts_of(onnx.load(path), {"x": sample(CASES[name])})
    assert parts
    far = {part.name: found for part in parts if (found := distance(part)) > 1}
    assert not far


def distance(part: Part) -> int:
    """By how many codes the results of a part differ at most."""
    model = nnapi.load(part.content)
    names: Sequence[str] = [model.operands[index].name for index in model.inputs]
    arrays = [narrowed(np.atleast_1d(part.inputs[name])) for name in names]
    (ours,) = nnapi.compile(model, "nnapi-reference").run(*arrays)
    return int(np.abs(ours.reshape(part.output.shape).astype(int) - part.output.astype(int)).max())
