"""Convolutions of volumes beside LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from tests.importers.tflite.against_litert import case, check
from tests.tflite_writer import T, const, f32, single

RANDOM = np.random.default_rng(7)
STRIDED = {"StrideD": 1, "StrideH": 1, "StrideW": 1, "DilationDFactor": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def weights(*shape: int) -> T:
    return const(RANDOM.uniform(-1, 1, shape), "FLOAT32")


def volume(kind: str, inputs: Any, out: Any, **fields: int) -> Any:
    return case(kind, inputs, out, "Conv3DOptions", **(STRIDED | fields))


SAME, VALID = {"Padding": 0}, {"Padding": 1}
X = f32(1, 4, 5, 6, 2)
CASES = [
    volume("CONV_3D", [X, weights(3, 2, 3, 2, 4)], f32(1, 2, 4, 4, 4), **VALID),
    volume(
        "CONV_3D", [X, weights(3, 2, 3, 2, 4), weights(4)], f32(1, 2, 3, 3, 4), **SAME, StrideD=2, StrideH=2, StrideW=2
    ),
    volume(
        "CONV_3D",
        [X, weights(2, 2, 2, 2, 3), weights(3)],
        f32(1, 2, 4, 4, 3),
        **VALID,
        DilationDFactor=2,
        DilationWFactor=2,
    ),
    volume("CONV_3D", [X, weights(1, 1, 1, 2, 3)], f32(1, 4, 5, 6, 3), **SAME, FusedActivationFunction=1),
    volume(
        "CONV_3D_TRANSPOSE",
        [const([1, 8, 10, 12, 3]), weights(3, 3, 2, 3, 2), X, weights(3)],
        f32(1, 8, 10, 12, 3),
        **SAME,
        StrideD=2,
        StrideH=2,
        StrideW=2,
    ),
    volume(
        "CONV_3D_TRANSPOSE",
        [const([1, 6, 11, 8, 3]), weights(3, 3, 3, 3, 2), X],
        f32(1, 6, 11, 8, 3),
        **VALID,
        StrideH=2,
    ),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: f"{each.kind} {each.fields}")
@pytest.mark.engine
def test_convolutions(each: Any, tmp_path: Path) -> None:
    model = check(each, tmp_path)
    assert [call.name for call in model.operations][-1] == each.kind.replace("CONV_3D_TRANSPOSE", "TRANSPOSE_CONV_3D")


def test_a_computed_filter(tmp_path: Path) -> None:
    x = RANDOM.uniform(-1, 1, (1, 3, 4, 4, 2)).astype(np.float32)
    content = single(
        "CONV_3D", [f32(*x.shape), f32(2, 2, 2, 2, 2)], f32(1, 2, 3, 3, 2), "Conv3DOptions", **STRIDED, **VALID
    )
    (tmp_path / "model.tflite").write_bytes(content)
    model = nnapi.load(tmp_path / "model.tflite")
    filter = RANDOM.uniform(-1, 1, (2, 2, 2, 2, 2)).astype(np.float32)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x, filter)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2, 2), (1, 2, 3))
    np.testing.assert_allclose(found, np.einsum("ndhwcijk,ijkco->ndhwo", windows, filter), 1e-5, 1e-5)


def test_a_filter_of_another_depth_is_refused(tmp_path: Path) -> None:
    content = single("CONV_3D", [X, weights(2, 2, 2, 3, 2)], f32(1, 3, 4, 5, 2), "Conv3DOptions", **STRIDED, **VALID)
    (tmp_path / "model.tflite").write_bytes(content)
    with pytest.raises(BadDataError, match="its filter has depth 3, its input 2"):
        nnapi.load(tmp_path / "model.tflite")
