"""Limits of sliding windows, and transposed convolutions whose padding is negative: strides are wider than filters."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.lowering.windows import WIDEST, explain_too_wide, limit_steps, separate_zeros
from tests.exporters.exported_cases import WAYS

MODULES = {"LiteRT": "ai_edge_litert", "ONNX Runtime": "onnxruntime"}
MOST = 2**31 - 1


def test_too_wide_says_how_wide() -> None:
    assert explain_too_wide(((0, 0), (WIDEST, 3))) == ""
    assert explain_too_wide(((0, MOST), (0, 0))).startswith(f"{MOST} cells of padding are more than")


def test_numbers_that_mean_nothing_become_small() -> None:
    stride, dilation = limit_steps((5, 9), (3, 1), (MOST, 2), ((1, 1), (0, 0)), (2, MOST))
    assert stride == (7, 2)
    assert dilation == (2, 1)


def test_zeros_are_as_many_as_strides_are_needed() -> None:
    assert separate_zeros(((0, -1), (-3, -4)), (2, 3)) == (((0, 1), (1, 2)), ((0, 1), (0, 2)))
    assert separate_zeros(((1, 0), (2, 2)), (1, 1)) == (((0, 0), (0, 0)), ((1, 0), (2, 2)))


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.engine] if way in MODULES else []) for way in WAYS]
)
@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize(("size", "stride"), [((1, 2), 3), ((2, 1), 2)])
def test_files_compute_the_same(
    way: str, is_quantized: bool, size: tuple[int, int], stride: int, tmp_path: Path
) -> None:
    module = MODULES.get(way, "onnx")
    pytest.importorskip(module, reason=f"{module} is not installed")
    rng = np.random.default_rng(1)
    builder = nnapi.Builder()
    results = {"scale": 0.5, "zero_point": 128} if is_quantized else {}
    if is_quantized:
        x = builder.input(nnapi.tensor("quant8_asymm", (1, 2, 3, 2), 0.1, 120), "x")
        filter = builder.constant(
            rng.integers(0, 256, (3, *size, 2)).astype(np.uint8), nnapi.tensor("quant8_asymm", (3, *size, 2), 0.2, 130)
        )
        bias = builder.constant(np.array([100, -200, 300], np.int32), nnapi.tensor("int32", (3,), 0.02))
        given = rng.integers(0, 256, (1, 2, 3, 2)).astype(np.uint8)
    else:
        x = builder.input(nnapi.tensor("float32", (1, 2, 3, 2)), "x")
        filter = builder.constant(rng.standard_normal((3, *size, 2)).astype(np.float32))
        bias = builder.constant(np.array([1, -2, 3], np.float32))
        given = rng.standard_normal((1, 2, 3, 2)).astype(np.float32)
    shape = np.array([1, 2 * stride, 3 * stride, 3], np.int32)
    options = {"padding_scheme": 1, "stride_w": stride, "stride_h": stride, "activation": 1}
    builder.output(builder.transpose_conv_2d(x, filter, bias, shape, **options, **results))  # type: ignore[call-overload]
    model = builder.finish()
    suffix, run = WAYS[way]
    nnapi.export(model, tmp_path / f"out{suffix}")
    (found,) = run(tmp_path / f"out{suffix}", [given])
    (expected,) = nnapi.compile(model, "nnapi-reference").run(given)
    np.testing.assert_allclose(found.astype(np.float64), expected, 0, 1 if is_quantized else 1e-5)
