"""Operations whose results depend on data in size: OpenVINO's operators beside the reference."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, compile
from nnapi.errors import BadDataError
from nnapi.model.operand import tensor

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.runtime.device import Device, device
from nnapi.runtime.verdicts.verdicts import find_verdicts

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


def compare(build: Any, *requests: Any) -> None:
    """Compare the results of several requests: each has its own sizes."""
    b = Builder()
    types = [tensor("bool8" if each.dtype == np.bool_ else each.dtype.name, each.shape) for each in requests[0]]
    made = build(b, *map(b.input, types))
    b.output(*(made if isinstance(made, list | tuple) else [made]))
    model = b.finish()
    ours, right = (compile(model, [each]) for each in (ENGINE, REFERENCE))
    for inputs in requests:
        for found, expected in zip(ours.run(*inputs), right.run(*inputs), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("type", ["float32", "float16", "int32", "bool"])
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2, 3)])
def test_positions(type: str, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    drawn = [random.integers(0, 2, shape).astype(type) for _ in range(3)]
    compare(lambda b, x: b.nonzero(x), *([each] for each in (*drawn, np.zeros(shape, type))))


def test_the_zero_point_is_zero() -> None:
    """The engine's own float of the code 255 is slightly off 0."""
    b = Builder()
    b.output(b.nonzero(b.input(tensor("quant8_asymm", (2,), 11.50527, 255))))
    model, x = b.finish(), np.array([255, 254], np.uint8)
    assert compile(model, [ENGINE]).run(x)[0].tolist() == compile(model, [REFERENCE]).run(x)[0].tolist() == [[1]]


def test_positions_beside_the_image_that_they_are_of() -> None:
    b = Builder()
    x, y = b.input(tensor("int8", (1, 1, 1, 12), 0.5)), b.input(tensor("int8", (2, 1, 1), 0.25, -128))
    filter = b.constant(np.zeros((44, 1, 2, 3), np.int8), tensor("int8", (44, 1, 2, 3), 0.01))
    nothing = b.constant(np.zeros(44, np.int32), tensor("int32", (44,), 0.005))
    image = b.less(b.grouped_conv_2d(x, filter, nothing, 1, 0, 0, 0, 8, 1, 4, 3, scale=0.4, zero_point=60), y)
    b.output(image, b.nonzero(image))
    model, given = b.finish(), (np.zeros((1, 1, 1, 12), np.int8), np.full((2, 1, 1), -128, np.int8))
    assert [compile(model, [each]).run(*given)[1].shape for each in (ENGINE, REFERENCE)] == [(4, 0)] * 2


def test_positions_behind_other_operations() -> None:
    random = np.random.default_rng(2)
    drawn = [random.standard_normal((5, 300)).astype(np.float32) for _ in range(2)]
    compare(lambda b, x: (b.nonzero(b.relu(b.add(x, x, 0))), b.abs(x)), *([each] for each in (*drawn, -abs(drawn[0]))))


@pytest.mark.parametrize("type", ["float32", "float16", "int32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorted_slices(type: str, axis: int) -> None:
    x = np.random.default_rng(3).integers(0, 2, (5, 3, 3)).astype(type)
    x = np.concatenate([x, x.take([1, 0], axis)], axis)
    compare(lambda b, x: b.unique(x, axis, True), [x], [np.zeros_like(x)])


@pytest.mark.parametrize("shape", [(2, 4), (3, 5), (2, 3, 4)])
def test_sorted_slices_of_the_last_axis(shape: tuple[int, ...]) -> None:
    """The engine's own result has some slices twice."""
    random = np.random.default_rng(4)
    compare(lambda b, x: b.unique(x, -1, True), *([random.integers(0, 2, shape).astype(np.int32)] for _ in range(20)))


def test_slices_in_the_order_of_their_positions_are_refused() -> None:
    b = Builder()
    b.output(*b.unique(b.input(tensor("float32", (4,))), 0, False))
    with pytest.raises(BadDataError, match="wrong slices in the order of their first positions"):
        compile(b.finish(), [ENGINE])


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize(("most", "overlap", "least"), [(5, 0.3, 0.1), (40, 0.5, 0.0), (40, 0.0, -1.0), (40, 1.0, 0.5)])
def test_boxes(most: int, overlap: float, least: float, centered: bool) -> None:
    """Corners in any order, equal scores, and an overlap equal to a threshold."""
    random = np.random.default_rng(4)
    requests = []
    for _ in range(3):
        boxes, scores = random.random((2, 30, 4)), random.integers(0, 12, (2, 3, 30)) / 12
        boxes[:, 10:12] = np.array([[0, 0, 1, 1], [0, 0, 1, 0.5]])
        requests.append([boxes.astype(np.float32), scores.astype(np.float32)])
    compare(lambda b, x, s: b.non_max_suppression(x, s, most, overlap, least, centered), *requests)


def test_what_reads_positions_runs_elsewhere_if_the_engine_does_not_take_the_whole_model() -> None:
    """The engine would be given positions of another number in each run."""
    b = Builder()
    x = b.input(tensor("float32", (3, 40)))
    b.output(b.gather(b.nonzero(b.relu(x)), 0, [1]))
    b.output(b.topk_v2(b.cast(x, out="int32"), 1)[0])  # compares integers, which the engine does not
    model = b.finish()
    with pytest.raises(BadDataError, match="TOPK_V2"):
        compile(model, [ENGINE])
    reasons = [each.reason for each in find_verdicts(ENGINE.driver, model)]
    assert any("GATHER" in reason and "each run would compile" in reason for reason in reasons)
    compiled = compile(model, [ENGINE, REFERENCE])
    for seed in range(2):
        given = np.random.default_rng(seed).standard_normal((3, 40)).astype(np.float32)
        assert compiled.run(given)[0].tolist() == [np.nonzero(given > 0)[1].tolist()]
