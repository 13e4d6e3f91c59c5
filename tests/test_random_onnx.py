"""Random files of one operator with indices: legal ones run alike, and ONNX Runtime refuses the others."""

import numpy as np
import pytest

import nnapi

pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from benchmarks.onnx_indices import compare, run_onnxruntime  # noqa: E402  # ONNX Runtime may be missing
from tests.random_onnx import KINDS, random_node  # noqa: E402

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("kind", KINDS)
def test_legal_indices_give_the_same(kind: str) -> None:
    for seed in range(8):
        node = random_node(kind, np.random.default_rng(seed), hostile=0)
        assert not node.is_hostile
        assert compare(node, "nnapi-reference") == ""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "TopK"])
def test_onnx_runtime_refuses_indices_out_of_range(kind: str) -> None:
    for seed in range(8):
        node = random_node(kind, np.random.default_rng(seed), hostile=1)
        assert node.is_hostile
        assert run_onnxruntime(node) is None


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    node = random_node("Gather", np.random.default_rng(0), hostile=0)
    monkeypatch.setattr("benchmarks.onnx_indices.run_onnxruntime", lambda node: None)
    assert compare(node, "nnapi-reference") == "computes what ONNX Runtime refuses"
    monkeypatch.setattr("benchmarks.onnx_indices.run_onnxruntime", lambda node: [np.zeros((9, 9), np.float32)])
    assert compare(node, "nnapi-reference").startswith("output 0 is")


def test_plain_gather_refuses_what_onnx_runtime_does() -> None:
    for seed in range(8):
        assert compare(random_node("Gather", np.random.default_rng(seed), hostile=1), "nnapi-reference") == ""


def test_a_seed_gives_the_same_file_again() -> None:
    first, again, other = (random_node("GatherND", np.random.default_rng(seed)) for seed in (4, 4, 5))
    assert first.content == again.content != other.content
    assert nnapi.load(first.content).name
