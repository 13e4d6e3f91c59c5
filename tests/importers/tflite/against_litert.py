"""Running a file on the importer's model and on LiteRT's built-in kernels, and comparing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.importers import load
from nnapi.importers.graph import Graph
from tests.tflite_writer import T, single

Arrays = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """One operator to try. ``low`` and ``high`` bound random floats and int32; ``within`` is the tolerance for floats,
    relative to the largest output, ``codes`` that for quantized results. ``theirs`` are other inputs for LiteRT, where
    its kernels crash on what the file may leave out."""

    kind: str
    inputs: Sequence[T | None]
    outputs: T | Sequence[T]
    options: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    low: float = -3
    high: float = 3
    within: float = 2e-6
    codes: int = 1
    label: str = ""
    theirs: Sequence[T | None] | None = None

    def __str__(self) -> str:
        types = "-".join(dict.fromkeys(tensor.type.lower() for tensor in self.inputs if tensor is not None))
        return "-".join(filter(None, (self.kind, types, self.label)))

    def content(self, inputs: Sequence[T | None] | None = None) -> bytes:
        return single(self.kind, inputs or self.inputs, self.outputs, self.options, **self.fields)


def case(
    kind: str, inputs: Sequence[T | None], outputs: T | Sequence[T], options: str | None = None, **rest: Any
) -> Case:
    """A case; what is not an attribute of Case is a field of the options."""
    own = {name: rest.pop(name) for name in ("low", "high", "within", "codes", "label", "theirs") if name in rest}
    return Case(kind, inputs, outputs, options, rest, **own)


def check(case: Case, folder: Path, seed: int = 8) -> nnapi.Model:
    """Assert that the imported model and LiteRT agree on random input; gives the model."""
    rng = np.random.default_rng(seed)
    open_inputs = [
        tensor for tensor in case.inputs if tensor is not None and tensor.data is None and not tensor.variable
    ]
    arrays = [random_array(tensor, case, rng) for tensor in open_inputs]
    model = loaded(case.content(), folder)
    agree(run(model, arrays), litert(case.content(case.theirs), arrays), case)
    return model


def random_array(tensor: T, case: Case, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if tensor.type == "BOOL":
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    if tensor.type.startswith("FLOAT"):
        return rng.uniform(case.low, case.high, tensor.shape).astype(tensor.type.lower())
    if tensor.type in ("INT32", "INT64"):
        low, high = int(case.low), int(case.high)
        return rng.integers(low, high + 1, tensor.shape).astype(tensor.type.lower())
    limits = np.iinfo(tensor.type.lower())
    return rng.integers(limits.min, limits.max + 1, tensor.shape).astype(tensor.type.lower())


def loaded(content: bytes, folder: Path) -> nnapi.Model:
    path = folder / f"case{len(list(folder.iterdir()))}.tflite"  # a file that is mapped must not change
    path.write_bytes(content)
    return load(path)


def reserved(case: Case, folder: Path) -> list[int]:
    """Return the bytes of constants that the import reserves: the amounts in the order of their requests."""
    amounts: list[int] = []
    reserve = Graph.reserve

    def record(graph: Graph, count: int) -> None:
        amounts.append(count)
        reserve(graph, count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Graph, "reserve", record)
        loaded(case.content(), folder)
    return amounts


def run(model: nnapi.Model, inputs: Arrays) -> Arrays:
    narrowed = [value.astype(np.int32) if value.dtype == np.int64 else value for value in inputs]
    shaped = [value.reshape(value.shape or (1,)) for value in narrowed]
    return nnapi.compile(model, "nnapi-reference").run(*shaped)


def litert(content: bytes, inputs: Arrays, reference: bool = False) -> Arrays:
    """Return the results of LiteRT's kernels; skip if LiteRT is not installed."""
    interpreter_module = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    kinds = interpreter_module.OpResolverType
    interpreter = interpreter_module.Interpreter(
        model_content=content,
        num_threads=1,
        experimental_op_resolver_type=kinds.BUILTIN_REF if reference else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    details = interpreter.get_input_details()
    for detail, value in zip(details, inputs, strict=True):
        if tuple(detail["shape"]) != value.shape:
            interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    for detail, value in zip(details, inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def agree(ours: Arrays, theirs: Arrays, case: Case) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == (b.shape or (1,))
        b = b.reshape(a.shape)
        if b.dtype.kind == "f":
            finite = np.isfinite(b)
            np.testing.assert_array_equal(a[~finite], b[~finite])
            scale = float(np.abs(b[finite]).max(initial=0)) or 1.0
            tolerance = case.within if b.dtype == np.float32 else 2e-3
            np.testing.assert_allclose(a[finite].astype(np.float64), b[finite].astype(np.float64), 0, tolerance * scale)
        elif b.dtype.itemsize == 1 and b.dtype != np.bool_:
            assert np.abs(a.astype(int) - b.astype(int)).max(initial=0) <= case.codes
        else:
            np.testing.assert_array_equal(a, b.astype(a.dtype))
