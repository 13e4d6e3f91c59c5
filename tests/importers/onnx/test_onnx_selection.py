"""Results whose size depends on the data, beside ONNX's reference: Compress, NonZero, Unique, NonMaxSuppression."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from tests.importers.onnx.sized_cases import make_sized  # noqa: E402

RNG = np.random.default_rng(3)
X = np.round(RNG.standard_normal((4, 5)), 0).astype(np.float32)
BOXES, SCORES = RNG.random((1, 20, 4)).astype(np.float32), RNG.random((1, 3, 20)).astype(np.float32)
node = helper.make_node


def compare(nodes: list[Any], inputs: dict[str, Any], outputs: str, **constants: Any) -> None:
    """Compare the results on the reference and on the default devices with those of ONNX's evaluator."""
    proto = make_sized(nodes, inputs, outputs, **constants)
    expected = ReferenceEvaluator(proto).run(None, inputs)
    model = nnapi.load(proto.SerializeToString())
    for device in (["nnapi-reference"], None):
        for ours, theirs in zip(nnapi.compile(model, device).run(*inputs.values()), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-5)


def test_elements_above_a_threshold() -> None:
    nodes = [
        node("Greater", ["x", "low"], ["g"]),
        node("NonZero", ["g"], ["n"]),
        node("Split", ["n"], ["rows", "columns"], axis=0, num_outputs=2),
        node("Squeeze", ["rows", "first"], ["r"]),
        node("Gather", ["x", "r"], ["a"]),
        node("Exp", ["a"], ["b"]),
        node("Transpose", ["n"], ["c"], perm=[1, 0]),
    ]
    compare(nodes, {"x": X}, "bc", low=np.float32(0), first=np.array([0]))


def test_elements_at_computed_positions() -> None:
    nodes = [
        node("NonZero", ["x"], ["n"]),
        node("Transpose", ["n"], ["t"], perm=[1, 0]),
        node("GatherND", ["x", "t"], ["a"]),
        node("Exp", ["a"], ["b"]),
    ]
    compare(nodes, {"x": X}, "b")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compressed_slices(axis: int | None) -> None:
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    condition = np.array([True, False, True])
    compare([node("Compress", ["x", "c"], ["y"], **given)], {"x": X, "c": condition}, "y")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique_slices(axis: int | None) -> None:
    x = np.concatenate([X, X[:1], X], 0)
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    compare([node("Unique", ["x"], list("abcd"), **given)], {"x": x}, "abcd")


@pytest.mark.parametrize("centered", [0, 1])
def test_boxes_of_the_chosen_indices(centered: int) -> None:
    limits = {"most": np.array([6]), "overlap": np.array([0.3], np.float32), "score": np.array([0.2], np.float32)}
    nodes = [
        node("NonMaxSuppression", ["b", "s", *limits], ["n"], center_point_box=centered),
        node("Gather", ["n", "last"], ["i"], axis=1),
        node("Squeeze", ["b", "batch"], ["all"]),
        node("Gather", ["all", "i"], ["y"]),
    ]
    compare(nodes, {"b": BOXES, "s": SCORES}, "ny", **limits, last=2, batch=np.array([0]))


def test_defaults_of_the_limits() -> None:
    """No box overlaps more than the threshold 0, every score counts, and no box is chosen without a number."""
    inputs = {"b": BOXES, "s": SCORES - 1}
    limits = {"most": np.array([2**40]), "overlap": np.array([0], np.float32), "score": np.array([-9], np.float32)}
    explicit, default, none = (
        make_sized([node("NonMaxSuppression", ["b", "s", *list(limits)[:count]], ["n"])], inputs, "n", **limits)
        for count in (3, 1, 0)
    )
    (expected,) = ReferenceEvaluator(explicit).run(None, inputs)
    found = [nnapi.compile(nnapi.load(each.SerializeToString())).run(*inputs.values())[0] for each in (default, none)]
    assert len(expected) > 3
    np.testing.assert_array_equal(found[0], expected)
    assert found[1].shape == (0, 3)


def test_several_numbers_as_a_limit() -> None:
    nodes = [node("NonMaxSuppression", ["b", "s", "most"], ["n"])]
    proto = make_sized(nodes, {"b": BOXES, "s": SCORES}, "n", most=np.array([1, 2]))
    with pytest.raises(nnapi.BadDataError, match="most holds 2 numbers, must be 1"):
        nnapi.load(proto.SerializeToString())


def test_unsorted_slices() -> None:
    proto = make_sized([node("Unique", ["x"], list("abcd"), sorted=0)], {"x": np.array([3, 1, 3], np.float32)}, "abcd")
    found = nnapi.compile(nnapi.load(proto.SerializeToString())).run(np.array([3, 1, 3], np.float32))
    assert [each.tolist() for each in found] == [[3, 1], [0, 1], [0, 1, 0], [2, 1]]
