"""Models that OpenVINO compiles once for all sizes, beside the reference at each size."""

import time
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.model.dynamic_model import DynamicModel, SizedModel

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
pytest.importorskip("onnx", reason="onnx is not installed")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.api import ov
from tests.importers.onnx.symbolic_cases import (
    CASES,
    make,
    make_doubled_ids,
    make_heads,
    make_images,
    make_masked,
    make_positions,
    node,
)

pytestmark = pytest.mark.engine
OPTIONS = PrepareOptions(threads=1)


def load(content: bytes) -> DynamicModel:
    model = nnapi.load(content)
    assert isinstance(model, DynamicModel)
    return model


def describe(model: DynamicModel, shapes: Any) -> SizedModel:
    found = model.describe_sized(shapes)
    assert found is not None
    return found


def order(model: DynamicModel, shapes: Any) -> Any:
    return tuple(shapes[model.operands[index].name] for index in model.inputs)


def draw(model: DynamicModel, shapes: Any, rng: Any) -> list[Any]:
    is_float = [model.operands[index].name not in ("ids", "mask") for index in model.inputs]
    return [
        rng.normal(size=shape).astype(np.float32) if real else rng.integers(0, 30, shape).astype(np.int32)
        for shape, real in zip(shapes, is_float, strict=True)
    ]


@pytest.mark.parametrize("name", CASES)
def test_one_compilation_computes_all_sizes(name: str) -> None:
    make_case, choose = CASES[name]
    rng, model = np.random.default_rng(5), load(make_case())
    sized = describe(model, order(model, choose(rng)))
    prepared = OpenVinoDriver(threads=1).prepare_dynamic(sized.model, OPTIONS)
    computed = 0
    for _ in range(12):
        shapes = order(model, choose(rng))
        if sized.find_broken(shapes):
            continue
        computed += 1
        inputs = draw(model, shapes, rng)
        found = prepared.execute(Request([*inputs, *sized.find_further(shapes)])).outputs
        right = nnapi.compile(model.specialize(shapes, is_cached=False), "nnapi-reference").run(*inputs)
        for ours, theirs in zip(found, right, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert computed > 6, "most sizes keep the guards"


def test_small_inputs_of_all_sizes_are_copied_to_the_same_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large input is shared; behind it, a small one gets a tensor again."""
    model, made = load(make_images()), []
    prepared = OpenVinoDriver(threads=1).prepare_dynamic(describe(model, ((2, 3, 9, 9),)).model, OPTIONS)
    tensor: Any = ov.Tensor

    def note(array: Any, *, shared_memory: bool) -> Any:
        made.append(shared_memory)
        return tensor(array, shared_memory=shared_memory)

    monkeypatch.setattr(ov, "Tensor", note)
    with nnapi.compile(model, "nnapi-reference") as compiled:
        for shape in ((2, 3, 9, 9), (3, 3, 12, 10), (2, 3, 8, 8), (2, 3, 90, 90), (2, 3, 9, 9), (4, 3, 11, 11)):
            x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            found = prepared.execute(Request([x])).outputs[0]
            np.testing.assert_allclose(found, compiled.run(x)[0], rtol=1e-5, atol=1e-5)
    assert made == [False, True, False]


def test_a_past_without_elements_lengthens_nothing() -> None:
    """It is concatenated only, so a prompt is computed as the tokens behind it are."""
    sized = describe(load(make_masked()), ((1, 1), (1, 7), (1, 2, 6, 4)))
    assert sized.find_broken(((1, 5), (1, 5), (1, 2, 0, 4))) == ""
    assert sized.find_broken(((1, 5), (1, 6), (1, 2, 0, 4))), "the mask is longer"
    assert sized.find_broken(((1, 0), (1, 6), (1, 2, 6, 4))) == "TAKE (#6) reads ids, which has no elements"


def test_sizes_that_break_guards_are_refused() -> None:
    """The driver adds no guard: the limit of a GATHER's indices is a size. Transposes of integers are gathered."""
    moved = [node("Cast", "x", "i", to=6), node("Transpose", "i", "t", perm=[1, 0, 2]), node("Cast", "t", "s", to=1)]
    ends = {"x": ["batch", "length", 8], "past": ["past length", "past batch", 8]}
    model = load(make([*moved, node("Add", "s past", "y")], ends, {}))
    sized = describe(model, ((2, 3, 8), (3, 2, 8)))
    for shapes in (((2, 9, 8), (9, 2, 8)), ((1, 9, 8), (9, 1, 8))):
        assert sized.find_broken(shapes) == ""
    unequal = "the earlier import holds only where past[0] - x[1] = 0"
    assert sized.find_broken(((2, 9, 8), (8, 2, 8))) == unequal
    assert sized.find_broken(((2, 9, 8), (1, 2, 8))) == unequal, "it is broadcast"
    assert sized.find_broken(((0, 9, 8), (9, 0, 8))) == "CAST (#0) reads x, which has no elements"
    OpenVinoDriver(threads=1).prepare_dynamic(sized.model, OPTIONS)
    assert sized.find_broken(((2, 9, 8), (9, 2, 8))) == ""


def test_runs_are_checked() -> None:
    model = load(make_positions())
    sized = describe(model, ((1, 1), (1, 1, 4, 8)))
    prepared = OpenVinoDriver(threads=1).prepare_dynamic(sized.model, OPTIONS)
    shapes = (1, 1), (1, 1, 6, 8)
    past, further = np.zeros(shapes[1], np.float32), sized.find_further(shapes)
    with pytest.raises(nnapi.OpFailedError, match=r"indices ids are in 30..30, must be in -30..29"):
        prepared.execute(Request([np.full(shapes[0], 30, np.int32), past, *further]))
    late = Request([np.zeros(shapes[0], np.int32), past, *further], deadline=time.monotonic_ns() - 1)
    with pytest.raises(MissedDeadlinePersistentError):
        prepared.execute(late)
    with pytest.raises(OpFailedError, match="an input is omitted"):
        prepared.execute(late._replace(inputs=[None, past, *further], deadline=None))
    prepared.close()
    with pytest.raises(OpFailedError, match="closed"):
        prepared.execute(late._replace(deadline=None))


def test_computed_indices_are_checked() -> None:
    """They are so after the run, and the next run takes the same request."""
    model = load(make_doubled_ids())
    sized = describe(model, ((2,),))
    prepared = OpenVinoDriver(threads=1).prepare_dynamic(sized.model, OPTIONS)

    def run(*ids: int) -> Any:
        further = sized.find_further(((len(ids),),))
        return prepared.execute(Request([np.array(ids, np.int32), *further])).outputs

    with nnapi.compile(model, "nnapi-reference") as compiled:
        for ids in ((3, 14), (0, 7, -15), (5, 6, 7, 8)):
            right = compiled.run(np.array(ids, np.int32))
            with pytest.raises(nnapi.OpFailedError, match=r"indices .* are in -32..30, must be in -30..29"):
                run(15, -16, 0, 0)
            np.testing.assert_array_equal(run(*ids), right)


def test_other_devices_than_the_processor_take_none() -> None:
    model = load(make_heads())
    with pytest.raises(OpFailedError, match="openvino-gpu takes no dynamic dimensions"):
        OpenVinoDriver("GPU").prepare_dynamic(describe(model, ((2, 3, 8),)).model, OPTIONS)
