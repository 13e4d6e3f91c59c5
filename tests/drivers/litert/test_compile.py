"""Graphs as files for LiteRT: the facts behind the file, and what the engine must never get."""

import re
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import CacheEntry
from nnapi.drivers.litert import artifact
from nnapi.drivers.litert.artifact import SerializedGraph, cut_facts, read_facts, unpack, write_facts
from nnapi.drivers.litert.compile import compile_graph, count_macs, find_origins
from nnapi.drivers.litert.unsafe_graphs import LARGEST_TENSOR, find_violation
from nnapi.formats.tflite.graph import Graph, Operator, Tensor


def real(*shape: int, origin: int | None = None) -> Tensor:
    return Tensor("f32", shape, origin=origin)


def operator(kind: str, inputs: list[Tensor | None], output: Tensor) -> Operator:
    return Operator(kind, inputs, [output])


X = real(1, 5, 6, 7)


@pytest.mark.parametrize(
    ("kind", "inputs", "out", "macs"),
    [
        ("CONV_2D", [X, real(3, 2, 2, 7), real(3)], (2, 4, 5, 3), 40 * 3 * 2 * 2 * 7),
        ("DEPTHWISE_CONV_2D", [X, real(1, 3, 2, 14), real(14)], (1, 4, 5, 14), 20 * 3 * 2 * 14),
        ("FULLY_CONNECTED", [real(3, 5), real(2, 5), None], (3, 2), 3 * 2 * 5),
        ("TRANSPOSE_CONV", [real(4), real(3, 2, 2, 7), X], (1, 10, 12, 3), 120 * 3 * 2 * 2 * 7),
        ("ADD", [X, real(1, 5, 6, 7)], (1, 5, 6, 7), 0),
    ],
)
def test_products_are_those_of_sums(kind: str, inputs: list[Tensor | None], out: tuple[int, ...], macs: int) -> None:
    one = operator(kind, inputs, real(*out))
    assert count_macs(Graph([one])) == macs
    assert count_macs(Graph([one, operator("RELU", [X], real(1)), one])) == 2 * macs


def test_a_converted_input_belongs_to_the_operation_that_reads_it() -> None:
    x, converted, padded, first, second = real(2), real(2), real(2), real(2, origin=3), real(2, origin=1)
    graph = Graph(
        [
            operator("CAST", [x], converted),
            operator("PAD", [converted, None], padded),
            operator("NEG", [padded], first),
            operator("ABS", [first], second),
            operator("CAST", [second], real(2)),
        ]
    )
    assert find_origins(graph) == [3, 3, 3, 1, None]


def test_facts_follow_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "VERSION", 7)
    content = b"the file" + write_facts((True, False), ((1, 2), ()), None, "ä")
    assert read_facts(memoryview(content)) == (((True, False), ((1, 2), ()), None, "ä"), 8)
    monkeypatch.setattr(artifact, "VERSION", 8)
    with pytest.raises(ValueError, match="it has version 7, the driver's is 8"):
        read_facts(memoryview(content))


def network(*shape: int) -> tuple[nnapi.Model, Graph]:
    b = nnapi.Builder()
    b.output(b.relu(b.input(nnapi.tensor("float32", shape)), name="y"))
    x, y = real(2, 3), real(2, 3, origin=0)
    return b.finish(), Graph([operator("RELU", [x], y)], [x], [y], (True, False))


@pytest.mark.parametrize(("shape", "assumed"), [((2, 3), None), ((0, 3), ((2, 3), None))])
@pytest.mark.parametrize("in_float16", [False, True])
def test_a_compiled_graph_is_read_back(shape: tuple[int, ...], assumed: Any, in_float16: bool) -> None:
    """The shapes that a graph was made for are only kept where a run may have others."""
    model, graph = network(*shape)
    compiled = compile_graph(model, graph, [(2, 3), None], in_float16=in_float16)
    assert compiled[1:] == ((True, False), ((2, 3),), (0,), 0, assumed, in_float16, (), None)
    found = unpack(CacheEntry(bytes(compiled.content)))
    assert found._replace(content=b"") == SerializedGraph(b"", *compiled[1:])
    facts, length = read_facts(memoryview(compiled.content))
    assert facts == compiled[1:8]
    assert cut_facts(compiled) == bytes(compiled.content[:length])


def test_by_default_it_computes_in_float32() -> None:
    model, graph = network(2, 3)
    assert compile_graph(model, graph, []).in_float16 is False


def quantized(*scales: float, type: str = "i8") -> Tensor:
    return Tensor(type, (len(scales),), scales[0] if len(scales) == 1 else np.array(scales, np.float32))


COUNT = LARGEST_TENSOR // 4


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (real(2, COUNT // 2), None),
        (real(1, COUNT + 1), "is larger than the engine takes"),
        (Tensor("i8", (COUNT + 1,), 0.5), "is larger than the engine takes"),
        (Tensor("f32", (2, 3), data=np.zeros((2, 3), np.float32)), None),
        (Tensor("f32", (2, 3), data=np.zeros((3, 2), np.float32)), r"has a value of shape \[3, 2\]"),
        (quantized(2.0**-40, 2.0**40), None),
        (quantized(2.0**-41, 1), "has scales 4.54747e-13 to 1, the engine takes 9.09495e-13 to 1.09951e.12"),
        (quantized(1, 2.0**41), "has scales 1 to 2.19902e.12, the engine takes"),
        (quantized(2.0**-50, type="i32"), None),
        (quantized(2.0**-50, 1, type="i32"), None),
        (real(3), None),
    ],
)
def test_tensors_that_the_engine_must_not_get(tensor: Tensor, reason: str | None) -> None:
    for one in (operator("ABS", [None, tensor], real(1)), operator("ABS", [real(1)], tensor)):
        sound: set[Tensor] = set()
        found = find_violation(one, sound)
        assert found is None if reason is None else re.search(reason, str(found))
        assert (tensor in sound) == (reason is None)


def test_a_tensor_is_checked_once() -> None:
    huge = real(COUNT + 1)
    assert find_violation(operator("ABS", [huge], real(1)), {huge}) is None


@pytest.mark.parametrize("kind", ["PAD", "PADV2"])
def test_the_engine_pads_at_most_five_axes(kind: str) -> None:
    assert find_violation(operator(kind, [real(1, 1, 1, 1, 2)], real(1, 1, 1, 1, 3)), set()) is None
    reason = find_violation(operator(kind, [real(1, 1, 1, 1, 1, 2)], real(1, 1, 1, 1, 1, 3)), set())
    assert reason == f"{kind} of rank 6, the engine takes at most 5"
