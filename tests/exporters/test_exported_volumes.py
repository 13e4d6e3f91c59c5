"""Convolutions and pools of volumes, regions of images, and tensors of rank 5 and 6 in exported files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import FuseCode
from nnapi.formats.tflite.reader import File
from nnapi.operation_codes import CompositeCode as C
from nnapi.ops.grid_sample import Mode, Padding
from tests.exporters.exported_cases import run_litert, run_onnxruntime
from tests.ops.kernel_cases import build, normal

VOLUME, HIGH = normal(1, 5, 6, 7, 4), normal(2, 3, 2, 3, 4)
PADDINGS = np.array([[1, 0], [1, 1], [0, 1]], np.int32)
CUT = np.array([[1, 0], [1, -1], [0, 1]], np.int32)
"""Paddings of which one appends cells to a transposed convolution."""
FILTER = normal(6, 2, 3, 2, 4)
GRID = normal(1, 2, 3, 4, 3)
IMAGE = normal(2, 8, 8, 3)
REGIONS = np.array([[0, 0, 9, 9], [1.5, 1, 3, 20], [5, 5, 4, 4]], np.float32)


def convolve(groups: int, dilations: list[int]) -> Any:
    filter = normal(6, 2, 3, 2, 4 // groups)
    return lambda b, x: b.conv_3d(
        x, filter, normal(6), PADDINGS, [1, 2, 1], dilations, groups, activation=FuseCode.FUSED_RELU
    )


def align(samples: int, half_pixel: bool, maximum: bool) -> Any:
    where = np.array([0, 1, 1], np.int32)
    return lambda b, x: b.roi_align_v2(x, REGIONS, where, 2, 3, 0.5, samples, half_pixel, maximum)


WHOLE = [
    (C.CONV_3D, convolve(1, [1, 1, 2]), VOLUME),
    (C.CONV_3D, convolve(2, [1, 1, 1]), VOLUME),
    (
        C.TRANSPOSE_CONV_3D,
        lambda b, x: b.transpose_conv_3d(x, normal(6, 2, 3, 2, 4), normal(6), CUT, [1, 2, 1]),
        VOLUME,
    ),
    (C.MAX_POOL_3D, lambda b, x: b.max_pool_3d(x, PADDINGS, [1, 2, 1], [2, 2, 3]), VOLUME),
    (C.AVERAGE_POOL_3D, lambda b, x: b.average_pool_3d(x, PADDINGS, [1, 2, 1], [2, 2, 3]), VOLUME),
    (C.GRID_SAMPLE, lambda b, x: b.grid_sample(x, GRID, Mode.LINEAR, Padding.ZEROS, False), VOLUME),
    (C.GRID_SAMPLE, lambda b, x: b.grid_sample(x, GRID, Mode.NEAREST, Padding.BORDER, True), VOLUME),
    (C.ROI_ALIGN_V2, align(2, True, False), IMAGE),
    (C.ROI_ALIGN_V2, align(0, False, False), IMAGE),
    (C.ROI_ALIGN_V2, align(2, False, True), IMAGE),
]


def export_and_run(make: Any, x: Any, folder: Path) -> tuple[Any, nnapi.Model]:
    """Return the result of ONNX Runtime beside that of the model, and the model that the importer reads."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    model, path = build(make, [x]), folder / "model.onnx"
    nnapi.export(model, path)
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    again = nnapi.load(path)
    np.testing.assert_allclose(nnapi.compile(again, "nnapi-reference").run(x)[0], expected, 1e-5, 1e-5)
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (found,) = run_onnxruntime(path, [x])
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    return found, again


@pytest.mark.parametrize(("code", "make", "x"), WHOLE, ids=lambda value: value.name if isinstance(value, C) else None)
def test_onnx_has_operators_for_volumes_and_regions(code: C, make: Any, x: Any, tmp_path: Path) -> None:
    _, again = export_and_run(make, x, tmp_path)
    assert code in [call.code for call in again.operations]


HIGH_RANKS = {
    "add": lambda b, x: b.relu(b.add(x, normal(3, 4))),
    "transpose": lambda b, x: b.transpose(x, [4, 0, 2, 1, 3]),
    "mean": lambda b, x: b.mean(x, [1, 3], False),
    "softmax": lambda b, x: b.softmax(x, 1.0, 2),
    "strided slice": lambda b, x: b.strided_slice(x, [0] * 5, [2, 3, 2, 3, 4], [1, 2, 1, 1, 2], 0, 0, 0),
    "pad": lambda b, x: b.pad(x, np.array([[0, 1]] * 5, np.int32)),
    "concatenation": lambda b, x: b.concatenation([x, x], 3),
    "split": lambda b, x: b.split(x, 4, 2)[1],
    "top k": lambda b, x: b.topk_v2(x, 2)[0],
    "reshape": lambda b, x: b.reshape(x, [2, 3, 2, 3, 2, 2]),
    "layer norm": lambda b, x: b.layer_norm(x, normal(4), normal(4), -1, 1e-5),
    "select": lambda b, x: b.select(b.greater(x, b.neg(x)), x, b.neg(x)),
    "mirror": lambda b, x: b.mirror_pad(x, np.array([[0, 1]] * 5, np.int32), 0),
    "root mean square": lambda b, x: b.rms_norm(x, normal(4), -1, 1e-5),
    "tile": lambda b, x: b.tile(x, [1, 2, 1, 1, 2]),
}


@pytest.mark.parametrize("make", HIGH_RANKS.values(), ids=HIGH_RANKS)
def test_files_have_any_rank(make: Any, tmp_path: Path) -> None:
    export_and_run(make, HIGH, tmp_path)
    run_in_litert(make, HIGH, tmp_path)


def run_in_litert(make: Any, x: Any, folder: Path) -> list[str]:
    """Compare LiteRT's result of an exported file; return the operators of the file."""
    model, path = build(make, [x]), folder / "model.tflite"
    nnapi.export(model, path)
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    again = nnapi.load(path)
    given = x.reshape(again.operands[again.inputs[0]].type.dimensions)  # the importer may merge axes of high ranks
    (found,) = nnapi.compile(again, "nnapi-reference").run(given)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-5, 1e-5)
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    (found,) = run_litert(path, [x])
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    return [operator.kind for operator in File(memoryview(path.read_bytes())).subgraph(0).operators]


def test_litert_pads_at_most_five_dimensions(tmp_path: Path) -> None:
    """Beyond, the exporter concatenates zeros."""
    deep = normal(2, 1, 3, 2, 2, 2)
    kinds = run_in_litert(lambda b, x: b.pad(x, np.array([[0, 1]] * 6, np.int32)), deep, tmp_path)
    assert set(kinds) == {"CONCATENATION"}


@pytest.mark.parametrize(
    ("code", "make", "x"), WHOLE[:5], ids=lambda value: value.name if isinstance(value, C) else None
)
def test_volumes_in_tflite_files(code: C, make: Any, x: Any, tmp_path: Path) -> None:
    run_in_litert(make, x, tmp_path)


@pytest.mark.parametrize(("number", "kinds"), [(0, ["PAD", "CONV_3D"]), (2, ["CONV_3D_TRANSPOSE", "SLICE"])])
def test_tflite_has_operators_for_convolutions_of_volumes(number: int, kinds: list[str], tmp_path: Path) -> None:
    _, make, x = WHOLE[number]
    assert run_in_litert(make, x, tmp_path) == kinds


def test_a_transposed_convolution_that_onnx_cannot_lengthen_is_decomposed(tmp_path: Path) -> None:
    """ONNX appends fewer cells than the strides."""
    far = np.array([[1, 0], [1, -2], [0, 1]], np.int32)
    _, again = export_and_run(lambda b, x: b.transpose_conv_3d(x, FILTER, normal(6), far, [1, 2, 1]), VOLUME, tmp_path)
    assert C.TRANSPOSE_CONV_3D not in [call.code for call in again.operations]


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_a_pad_value_out_of_range_keeps_its_lowest_bits(suffix: str, tmp_path: Path) -> None:
    """The random models have such values; LiteRT and ONNX have none, so they are concatenated or wrapped."""
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("quant8_asymm", (1, 2), 0.25, 128))
    b.output(b.pad_v2(x, np.array([[0, 0], [1, 0]], np.int32), -1))
    model, path = b.finish(), tmp_path / f"model{suffix}"
    nnapi.export(model, path)
    given = np.array([[3, 4]], np.uint8)
    for each in (model, nnapi.load(path)):
        assert nnapi.compile(each, "nnapi-reference").run(given)[0].tolist() == [[255, 3, 4]]
