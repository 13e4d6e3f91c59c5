"""LiteRT's interpreter with XNNPACK: what runs a serialised graph.

An interpreter has one run in flight; concurrent runs have one each, made when first needed and kept.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array

FLIP = np.uint8(128)
"""Turns unsigned codes into signed ones and back."""


class Instance:
    """One interpreter and views of the memory of its inputs and outputs, which never moves.

    ``flipped`` says for each input, then each output, whether the caller's codes are unsigned and the engine's signed.
    """

    def __init__(self, content: bytes, threads: int, flipped: Sequence[bool]) -> None:
        interpreter = Interpreter(model_content=content, num_threads=threads)
        try:
            interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise OpFailedError(f"LiteRT refuses the graph: {error}") from None
        self._interpreter = interpreter
        native: Any = interpreter._interpreter
        self._invoke = native.Invoke  # Interpreter.invoke forbids the views below
        views = [native.tensor(native, index) for index in (*native.InputIndices(), *native.OutputIndices())]
        views = [_caller_view(view, flip) for view, flip in zip(views, flipped, strict=True)]
        count = len(native.InputIndices())
        self._inputs = list(zip(views[:count], flipped[:count], strict=True))
        self._outputs = list(zip(views[count:], flipped[count:], strict=True))

    def run(self, inputs: Sequence[Array | None]) -> None:
        """Copy the inputs in and compute."""
        for (view, flip), array in zip(self._inputs, inputs, strict=True):
            if array is None or array.shape != view.shape:
                raise OpFailedError(f"an input is {_said(array)}, the graph was made for {list(view.shape)}")
            if flip:
                np.bitwise_xor(array, FLIP, out=view)
            else:
                view[...] = array
        try:
            self._invoke()
        except (RuntimeError, ValueError) as error:
            raise OpFailedError(f"LiteRT failed: {error}") from None

    def results(self) -> list[Array]:
        """Copies of the outputs."""
        return [view ^ FLIP if flip else view.copy() for view, flip in self._outputs]

    def borrowed(self) -> list[Array]:
        """The outputs without a copy where the engine's codes are the caller's: valid until the next run."""
        return [view ^ FLIP if flip else view for view, flip in self._outputs]


def _caller_view(view: Array, flip: bool) -> Array:
    """The engine's memory as elements of the caller's type."""
    return view.view(np.uint8) if flip or view.dtype == np.bool_ else view


def _said(array: Array | None) -> str:
    return "omitted" if array is None else f"of shape {list(array.shape)}"


class Pool:
    """As many instances of one graph as runs were ever in flight together."""

    def __init__(self, content: bytes, threads: int, flipped: Sequence[bool]) -> None:
        self._arguments = content, threads, flipped
        self._lock = threading.Lock()
        self._idle: list[Instance] = [Instance(*self._arguments)]
        self._closed = False

    def take(self) -> Instance:
        """An instance that is nobody else's until it is put back."""
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            need(not self._closed, "the prepared model is closed", OpFailedError)
            return Instance(*self._arguments)

    def put(self, instance: Instance) -> None:
        if not self._closed:
            self._idle.append(instance)

    def close(self) -> None:
        self._closed = True
        self._idle.clear()
