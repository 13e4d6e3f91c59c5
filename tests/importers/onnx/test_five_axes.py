"""Slices of tensors with more axes than NNAPI's four."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")

from tests.importers.onnx.literal_cases import node, results
from tests.importers.onnx.test_slices_and_gathers import bounds


def test_a_slice_of_a_tensor_of_rank_5() -> None:
    """An input has its dimensions; those of another tensor may be merged."""
    x = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 2, 2)
    for given, expected in (
        (([1], [3], [2]), x[:, :, 1:3]),
        (([1], [-9], [3], [-1]), x[:, :, :, ::-1]),
        (([1, 1, 1], [2, 3, -9], [0, 2, 4], [1, 1, -1]), x[1:, :, 1:3, :, ::-1]),
    ):
        names, constants = bounds(*given)
        assert results([node("Slice", f"x {names}")], {"x": x}, constants) == [expected.tolist()]
        merged = [node("Reshape", "x shape", "r"), node("Slice", f"r {names}")]
        found = results(merged, {"x": x.reshape(-1)}, constants | {"shape": np.array(x.shape)})
        assert found == [expected.tolist()]


@pytest.mark.parametrize("shape", [(1, 3, 12), (2, 3, 12)])
def test_queries_keys_and_values_are_slices_of_one_product(shape: Any) -> None:
    """PaddleOCR's recognizer slices the first axis of five instead of splitting it."""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    steps = [node("Reshape", "x shape", "r"), node("Transpose", "r", "t", perm=[2, 0, 3, 1, 4])]
    for k in range(3):
        names, constants = bounds([k], [k + 1], [0])
        nodes = [*steps, node("Slice", f"t {names}", "s"), node("Squeeze", "s axes")]
        given = constants | {"shape": np.array([shape[0], -1, 3, 2, 2]), "axes": np.array([0])}
        expected = x.reshape(shape[0], -1, 3, 2, 2).transpose(2, 0, 3, 1, 4)[k]
        assert results(nodes, {"x": x}, given) == [expected.tolist()]
