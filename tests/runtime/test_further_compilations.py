"""Compilation.run(keep=…): values between operations, beside the outputs."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from nnapi.compiling import compile
from nnapi.errors import BadDataError, BadStateError
from nnapi.model.builder import Builder
from nnapi.model.graph import find_computed
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.further_compilations import FurtherCompilations

X = np.array([1, -2], np.float32)


def chain() -> Model:
    """y = relu(2x) · x, and 2x is called doubled, relu(2x) twice."""
    builder = Builder()
    x = builder.input(tensor("float32", (2,)), name="x")
    positive = builder.relu(builder.add(x, x, name="doubled"), name="twice")
    builder.output(builder.mul(positive, x, name="y"))
    builder.output(builder.abs(positive, name="twice"))
    return builder.finish()


def test_kept_values_follow_the_outputs() -> None:
    model = chain()
    compilation = compile(model, "nnapi-reference")
    plain = compilation.run(X)
    found = compilation.run(X, keep=["doubled", "y"])
    assert [array.tolist() for array in found] == [[2, 0], [2, 0], [2, -4], [2, 0]]
    assert [array.tolist() for array in plain] == [array.tolist() for array in found[:2]]
    assert [array.tolist() for array in compilation.run(X, keep=model.operations[1].outputs)[2:]] == [[2, 0]]
    assert len(compilation.run(X)) == 2
    assert len(pickle.loads(pickle.dumps(compilation)).run(X, keep=["doubled"])) == 3


def test_what_cannot_be_kept() -> None:
    compilation = compile(chain(), "nnapi-reference")
    with pytest.raises(BadDataError, match="no operation of .* computes an operand 'x'"):
        compilation.run(X, keep=["x"])
    with pytest.raises(BadDataError, match=r"'twice' names several operands: \[\d+, \d+\]; give an index"):
        find_computed(compilation.model, ["twice"])
    compilation.close()
    with pytest.raises(BadStateError):
        compilation.run(X, keep=["doubled"])


def test_threads_that_keep_the_same_operands_compile_once() -> None:
    model = chain()
    (kept,) = find_computed(model, ["doubled"])
    further, compiled, found = FurtherCompilations(model), list[Model](), list[Any]()

    def run() -> None:
        found.append(len(further.run([X], [kept], compile_once)))

    def compile_once(described: Model) -> Compilation:
        compiled.append(described)
        other.start()  # while this one compiles
        return compile(described, "nnapi-reference")

    other = threading.Thread(target=run)
    run()
    other.join()
    assert (len(compiled), found) == (1, [3, 3])
    further.clear()
    other = threading.Thread(target=run)
    run()
    other.join()
    assert len(compiled) == 2


def test_a_compilation_that_is_closed_during_the_first_run_runs_to_the_end() -> None:
    model = chain()
    further = FurtherCompilations(model)

    class Closed:
        def __init__(self, described: Model) -> None:
            further.clear()
            self._ready = compile(described, "nnapi-reference")

        def run(self, *inputs: Any) -> list[Any]:
            further.clear()
            return self._ready.run(*inputs)

    assert len(further.run([X], find_computed(model, ["doubled"]), Closed)) == 3
