"""Operators that LiteRT computes in the memory of an operand overwrite nothing that is still to be read."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, compile, tensor
from nnapi.exporters.tflite import convert, write
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.lowering.passes.keep_shared_memory import keep_shared_memory

SHAPES = [(8,), (2, 4), (8, 1), (4, 2), (2, 2, 2)]
INPUTS = [np.arange(1, 9, dtype=np.int32), np.arange(-4, 4, dtype=np.int32)]


def make_overwritten() -> Model:
    """The MUL lies in the memory of the sum; its RESHAPE, in which LiteRT would compute the ADD, does too."""
    b = Builder()
    x, y = (b.input(tensor("int32", each.shape)) for each in INPUTS)
    product = b.mul(b.maximum(x, y), y, 0)
    total = b.add(
        b.reshape(product, b.constant(np.array([2, 4], np.int32))),
        b.reshape(y, b.constant(np.array([2, 4], np.int32))),
        0,
    )
    b.output(b.mul(b.reshape(total, b.constant(np.array([8], np.int32))), product, 0))
    return b.finish()


def make_random(seed: int) -> Model:
    """RESHAPE, ADD and MUL of int32; a last chain reads all results."""
    rng, b = random.Random(seed), Builder()
    pool: list[tuple[Any, tuple[int, ...]]] = [(b.input(tensor("int32", (8,))), (8,)) for _ in INPUTS]
    for _ in range(rng.randint(6, 16)):
        x, shape = rng.choice(pool[-2:] if rng.random() < 0.75 else pool)
        if rng.random() < 0.5:
            shape = rng.choice(SHAPES)
            pool.append((b.reshape(x, b.constant(np.array(shape, np.int32))), shape))
        else:
            y = rng.choice([each for each, own in pool if own == shape])
            pool.append(((b.add if rng.random() < 0.5 else b.mul)(x, y, 0), shape))
    last, *others = (b.reshape(each, b.constant(np.array([8], np.int32))) for each, _ in pool[2:])
    for each in others:
        last = b.add(b.maximum(last, each), each, 0)
    b.output(last)
    return b.finish()


def run(model: Model, device: Any) -> Any:
    with compile(model, device) as compiled:
        return compiled.run(*INPUTS)[0].tolist()


def test_literal() -> None:
    x, y = INPUTS
    product = np.maximum(x, y) * y
    assert run(make_overwritten(), "nnapi-reference") == ((product + y) * product).tolist()


@pytest.mark.slow
@pytest.mark.engine
def test_the_engine_computes_what_the_reference_does() -> None:
    from tests.drivers.xnnpack.engine_cases import engine  # skips where LiteRT is absent

    for model in (make_overwritten(), *map(make_random, range(40))):
        assert run(model, engine()) == run(model, "nnapi-reference")


@pytest.mark.engine
def test_the_fault_is_in_litert(tmp_path: Path) -> None:
    """Without the pass. Once LiteRT is mended, the pass can go."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT has no wheel for this platform")
    results: list[Any] = []
    for keep in (lambda graph: graph, keep_shared_memory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convert, "keep_shared_memory", keep)
            write(make_overwritten(), tmp_path / "model.tflite")
        interpreter = litert.Interpreter(str(tmp_path / "model.tflite"))
        interpreter.allocate_tensors()
        for details, array in zip(interpreter.get_input_details(), INPUTS, strict=True):
            interpreter.set_tensor(details["index"], array)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist())
    assert results[1] == run(make_overwritten(), "nnapi-reference") != results[0]


def make_graph(readers: int) -> Graph:
    """gather → MUL in its memory → RESHAPE → ADD, and further readers of the product."""
    x, y = Tensor("i32", (8,), name="x"), Tensor("i32", (8,), name="y")
    gathered, product, view, total = (Tensor("i32", (8,), name=name) for name in ("g", "p", "v", "t"))
    operators = [
        Operator("GATHER", [x, y], [gathered]),
        Operator("MUL", [gathered, y], [product]),
        Operator("RESHAPE", [product, constant((8,))], [view]),
        Operator("ADD", [view, y], [total]),
    ]
    outputs = [Tensor("i32", (8,), name=f"o{i}") for i in range(1 + readers)]
    operators.append(Operator("SUB", [total, y], [outputs[0]]))
    operators += [Operator("SUB", [product, y], [output]) for output in outputs[1:]]
    return Graph(operators, [x, y], outputs)


@pytest.mark.parametrize(("readers", "added"), [(0, 0), (1, 1), (3, 1)])
def test_a_reader_is_added_only_where_values_would_be_lost(readers: int, added: int) -> None:
    graph = make_graph(readers)
    kept = keep_shared_memory(graph)
    assert len(kept.operators) == len(graph.operators) + added
    assert not added or kept.operators[3].inputs[0] is kept.operators[4].inputs[0]
