"""Executions that the tests of rules break."""

from typing import Any

import numpy as np

from nnapi import Execution, OperandType, tensor
from nnapi.model.builder import Builder
from tests.graphs import finished_sum, on_reference

SUM = on_reference(finished_sum())
ONES = np.ones((2, 2), np.float32)


def blank() -> Any:
    return np.empty((2, 2), np.float32)


def prepared(compilation: Any = SUM) -> Execution:
    """x and y are set, z is not."""
    execution = Execution(compilation)
    execution.set_input(0, ONES)
    execution.set_input(1, ONES)
    return execution


def completed() -> Execution:
    execution = prepared()
    execution.set_output(0, blank())
    execution.compute()
    return execution


def slicing(dimensions: tuple[int, ...] = (0, 2), out: tuple[int, ...] = ()) -> Execution:
    """The first n rows of an input of shape [?, 2]; how many is an input as well."""
    b = Builder()
    x, size = b.input(tensor("float32", dimensions)), b.input(tensor("int32", (2,)))
    b.output(b.slice(x, [0, 0], size, out=tensor("float32", out)))
    return Execution(on_reference(b.finish()))


def sliced(rows: int, buffer: Any, type: OperandType | None = None, out: tuple[int, ...] = ()) -> Execution:
    execution = slicing(out=out)
    execution.set_input(0, np.ones((9, 2), np.float32))
    execution.set_input(1, np.array([rows, 2], np.int32))
    execution.set_output(0, buffer, type)
    return execution
