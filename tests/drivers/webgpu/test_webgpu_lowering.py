"""The graph that the accelerator is handed: without XNNPACK's rewrites, and only in patterns that are proven."""

import numpy as np
import pytest

import nnapi.drivers.webgpu.lowering as lowering
from nnapi import Builder, Model, tensor
from nnapi.drivers.litert.context import RULES as LITERT
from nnapi.drivers.litert.lowering import Lowered, lower_model
from nnapi.drivers.webgpu.lowering import WebGpuLowering, separate_padding, write_graph
from nnapi.drivers.webgpu.rules import RULES
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.reader import File
from nnapi.model.operation import REGISTRY


class Unchecked(WebGpuLowering):
    def is_proven(self, pattern: str) -> bool:
        return True


def lower(model: Model, kind: type[WebGpuLowering] = Unchecked) -> Lowered:
    return lower_model(model, None, kind)


def kinds(model: Model) -> list[str]:
    return [operator.kind for operator in lower(model).graph.operators]


def model_of(name: str, *shape: int, **arguments: object) -> Model:
    net = Builder(name)
    net.output(getattr(net, name)(net.input(tensor("float32", shape)), **arguments))
    return net.finish()


def test_every_operation_that_litert_has_a_rule_for_has_one() -> None:
    assert RULES.keys() == LITERT.keys()
    own = {REGISTRY[code].name for code in RULES if RULES[code] is not LITERT[code]}
    assert own == {"PAD", "SOFTMAX", "STRIDED_SLICE"}


@pytest.mark.parametrize("name", ["sqrt", "log", "rsqrt", "sin", "floor", "logistic"])
def test_functions_are_operators_without_what_xnnpack_needs_around_them(name: str) -> None:
    assert kinds(model_of(name, 2, 3)) == [name.upper()]


def test_beta_is_multiplied_before_the_largest_is_taken_off() -> None:
    assert kinds(model_of("softmax", 2, 3, beta=1.0)) == ["SOFTMAX"]
    assert kinds(model_of("softmax", 2, 3, beta=2.0)) == ["REDUCE_MAX", "SUB", "MUL", "SOFTMAX"]


def test_a_row_is_padded_as_an_image() -> None:
    graph = lower(model_of("pad", 3, paddings=np.array([[1, 2]], np.int32))).graph
    reshaped, padded, back = graph.operators
    assert [operator.kind for operator in graph.operators] == ["RESHAPE", "PAD", "RESHAPE"]
    assert (reshaped.output.shape, padded.output.shape, back.output.shape) == ((1, 1, 1, 3), (1, 1, 1, 6), (6,))
    assert padded.input(1).value.tolist() == [[0, 0], [0, 0], [0, 0], [1, 2]]


def test_slices_are_written_out_within_the_tensor() -> None:
    net = Builder("slices")
    x = net.input(tensor("float32", (4, 5, 6)))
    net.output(net.strided_slice(x, [-9, 1, -2], [9, 9, -1], [1, 3, 1], 0, 0, 4))
    taken, reshaped = lower(net.finish()).graph.operators
    assert [taken.input(place).value.tolist() for place in (1, 2, 3)] == [[0, 1, 4], [4, 5, 5], [1, 3, 1]]
    assert (taken.output.shape, reshaped.output.shape) == ((4, 2, 1), (4, 2))


def test_slices_go_forwards_only() -> None:
    net = Builder("backwards")
    net.output(net.strided_slice(net.input(tensor("float32", (4,))), [3], [0], [-1], 0, 0, 0))
    (verdict,) = lower(net.finish()).verdicts
    assert verdict.reason == "STRIDED_SLICE (#0): the accelerator slices forwards only"


def test_a_pattern_that_is_not_proven_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("sqrt", 2, 3)
    monkeypatch.setattr(lowering, "proven_patterns", lambda: {"SQRT f32[2] > f32[2]"})
    assert [verdict.supported for verdict in lower(model, WebGpuLowering).verdicts] == [True]
    monkeypatch.setattr(lowering, "proven_patterns", lambda: {"SQRT f32[3] > f32[3]"})
    (verdict,) = lower(model, WebGpuLowering).verdicts
    assert verdict.reason == "SQRT (#0): the accelerator is not known to compute SQRT f32[2] > f32[2]"


def test_computed_indices_are_refused() -> None:
    for is_computed in (False, True):
        net = Builder("gather")
        rows = net.input(tensor("float32", (3, 2)))
        net.output(net.gather(rows, 0, net.input(tensor("int32", (4,))) if is_computed else [2, 0, 0, 1]))
        (verdict,) = lower(net.finish()).verdicts
        assert verdict.supported is not is_computed
        assert not is_computed or verdict.reason == "GATHER (#0): the accelerator does not test computed indices"


@pytest.mark.parametrize("between", [False, True])
def test_padding_is_kept_apart_from_pooling(between: bool) -> None:
    x, padded, result = Tensor("f32", (1, 2, 2, 1)), Tensor("f32", (1, 4, 4, 1)), Tensor("f32", (1, 2, 2, 1))
    pad = Operator("PAD", [x, constant([[0, 0], [1, 1], [1, 1], [0, 0]])], [padded])
    again = padded.like()
    reshape = [Operator("RESHAPE", [padded, constant(again.shape)], [again])] if between else []
    pool = Operator("AVERAGE_POOL_2D", [again if between else padded], [result])
    found = separate_padding(Graph([pad, *reshape, pool], [x], [result])).operators
    assert [operator.kind for operator in found] == ["PAD", *(["RESHAPE"] if between else []), "MUL", "AVERAGE_POOL_2D"]
    assert found[-2].input(1).value.tolist() == [1.0]
    assert found[-1].inputs == found[-2].outputs
    assert found[-1].outputs == [result]


def test_codes_that_are_padded_are_not_pooled() -> None:
    net = Builder("codes")
    x = net.input(tensor("quant8_asymm", (1, 2, 2, 1), 0.5, 3))
    padded = net.pad(x, paddings=np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    net.output(net.max_pool_2d(padded, 0, 0, 0, 0, 2, 2, 2, 2, 0))
    first, second = lower(net.finish()).verdicts
    assert first.supported
    assert second.reason.endswith("the accelerator takes PAD before MAX_POOL_2D for padding that does not count")


def test_ends_have_names_and_none_is_another() -> None:
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    graph = Graph([Operator("ADD", [x, x], [y], {"activation": 0})], [x], [y, x, y], (False,) * 4)
    file = File(memoryview(write_graph(graph))).subgraph(0)
    assert [file.tensors[place].name for place in file.inputs] == ["i0"]
    assert [file.tensors[place].name for place in file.outputs] == ["o0", "o1", "o2"]
    assert len({*file.inputs, *file.outputs}) == 4
