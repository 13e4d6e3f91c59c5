"""Examples made of examples: other data, other dimensions, other types, with what a device computes as expected.

A mutation is a guess, and the device it is computed on decides: guesses that it refuses are dropped for tamer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.operand import Array, Shape
from nnapi.runtime.device import Device
from nnapi.testing.example import Criterion, Example, Graph, Harness, OperandSpec, Source, sign_codes
from nnapi.testing.fuzz import NoCall, compute_expected
from nnapi.testing.random_values import pick

GUESSES = 6
"""Changes of dimensions that are tried before the example keeps its own."""
IN_FLOAT16 = {"TENSOR_FLOAT32": "TENSOR_FLOAT16", "FLOAT32": "FLOAT16"}

Change = Callable[[Example, np.random.Generator], Example]


def mutate(example: Example, rng: np.random.Generator, device: Device) -> Example:
    """A relative of the example: other data, where possible other dimensions, now and then other types.

    Its expected outputs are the device's. The same seed gives the same relative. Raises NoCall for an example that
    is wrong on purpose, and where the device refuses every guess.
    """
    if example.expect_failure:
        raise NoCall(f"{example.name} is wrong on purpose")
    violation = None
    for guess in _guesses(example, rng):
        try:
            result = compute_expected(_settle_dimensions(guess, device), device)
        except NnapiError as error:
            violation = error
        else:
            return replace(result, name=f"{example.name}_mutated", min_feature="UNKNOWN", harness=Harness())
    raise NoCall(f"{example.name}: {violation}")


def _guesses(example: Example, rng: np.random.Generator) -> Iterator[Example]:
    """From the boldest to the tamest."""
    retyped = with_other_types(example, rng)
    for _ in range(GUESSES):
        resized = with_other_dimensions(pick(rng, (example, retyped)), rng)
        yield with_other_data(resized, rng)
    for relative in (retyped, example):
        yield with_other_data(relative, rng)
        yield with_shuffled_data(relative, rng)
    yield example


# Data


def with_other_data(example: Example, rng: np.random.Generator) -> Example:
    """The example with new inputs, drawn from the range of the old ones; integers from the old ones themselves."""
    return _with_inputs(example, lambda array: _redraw(array, rng))


def with_shuffled_data(example: Example, rng: np.random.Generator) -> Example:
    """The example with the rows of each input shuffled, which keeps what must stay together in a row."""
    return _with_inputs(example, lambda array: rng.permutation(array, axis=0) if array.ndim else array)


def _with_inputs(example: Example, change: Callable[[Array], Array]) -> Example:
    inputs = {i: None if array is None else change(array) for i, array in example.inputs.items()}
    return replace(example, inputs=inputs)


def _redraw(array: Array, rng: np.random.Generator) -> Array:
    known = array[np.isfinite(array)]
    if not known.size:
        return array
    low, high = known.min(), known.max()
    if array.dtype == np.int32:
        drawn = rng.choice(known, array.shape)
    elif array.dtype.kind == "f":
        drawn = rng.uniform(low, high, array.shape)
    else:
        drawn = rng.integers(low, high, array.shape, endpoint=True)
    return np.asarray(drawn).astype(array.dtype)


# Dimensions


def with_other_dimensions(example: Example, rng: np.random.Generator) -> Example:
    """The example with one dimension of an input changed wherever it occurs, in half of the cases also as a number.

    Data are repeated or cut to fit. Dimensions of what is computed are left open.
    """
    used = [example.main.operands[index].dimensions for index, array in example.inputs.items() if array is not None]
    old = pick(rng, sorted({dimension for dimensions in used for dimension in dimensions}) or [1])
    new = pick(rng, [dimension for dimension in range(1, old + 4) if dimension != old])
    numbers_too = rng.random() < 0.5

    def change(operand: OperandSpec) -> OperandSpec:
        dimensions = tuple(new if dimension == old else dimension for dimension in operand.dimensions)
        data = operand.data
        if data is not None:
            data = _resize(data, dimensions)
            if numbers_too and data.dtype == np.int32:
                data = np.where(data == old, np.int32(new), data)
        quant = operand.channel_quant
        if quant:
            scales = np.resize(np.array(quant.scales), dimensions[quant.channel_dim])
            quant = replace(quant, scales=tuple(scales.tolist()))
        return replace(operand, dimensions=dimensions, data=data, channel_quant=quant)

    graphs = [replace(graph, operands=tuple(map(change, graph.operands))) for graph in example.graphs]
    inputs = {
        index: None if array is None else _resize(array, graphs[0].operands[index].dimensions)
        for index, array in example.inputs.items()
    }
    return replace(example, main=_forget_dimensions(graphs[0]), referenced=tuple(graphs[1:]), inputs=inputs)


def _resize(array: Array, dimensions: Shape) -> Array:
    return array if array.shape == dimensions else np.resize(array, dimensions)


def _forget_dimensions(graph: Graph) -> Graph:
    """The graph with the dimensions of everything that it computes unknown, the ranks kept."""
    results = {index for operation in graph.operations for index in operation.outputs}
    return _with_dimensions(graph, {index: (0,) * len(graph.operands[index].dimensions) for index in results})


def _with_dimensions(graph: Graph, dimensions: Mapping[int, Shape]) -> Graph:
    operands = [
        replace(operand, dimensions=dimensions.get(index, operand.dimensions))
        for index, operand in enumerate(graph.operands)
    ]
    return replace(graph, operands=tuple(operands))


def _settle_dimensions(example: Example, device: Device) -> Example:
    """The example with the dimensions of its intermediate results as they come out, if a device lets them be seen.

    Many drivers take no operands of unknown dimensions.
    """
    main = example.main
    hidden = [index for index, operand in enumerate(main.operands) if operand.lifetime == Source.TEMPORARY_VARIABLE]
    if not any(0 in main.operands[index].dimensions for index in hidden):
        return example
    shown = [
        replace(operand, lifetime=Source.SUBGRAPH_OUTPUT) if index in hidden else operand
        for index, operand in enumerate(main.operands)
    ]
    probe = replace(main, operands=tuple(shown), outputs=(*main.outputs, *hidden))
    try:
        results = compute_expected(replace(example, main=probe), device).outputs
    except NnapiError:
        return example
    return replace(example, main=_with_dimensions(main, {index: results[index].shape for index in hidden}))


# Types


def with_other_types(example: Example, rng: np.random.Generator) -> Example:
    """The example in float16, or with signed codes, where it has something to change."""
    if example.harness.quantization_coupling:
        return sign_codes(example)
    graphs = [replace(graph, operands=tuple(map(_to_float16, graph.operands))) for graph in example.graphs]
    float16s = {index for index, operand in enumerate(graphs[0].operands) if operand.type in IN_FLOAT16.values()}
    inputs = {
        index: _as_float16(array) if array is not None and index in float16s else array
        for index, array in example.inputs.items()
    }
    criterion = Criterion("fp16", example.tolerance.quant8_atol) if float16s else example.tolerance
    return replace(example, main=graphs[0], referenced=tuple(graphs[1:]), inputs=inputs, tolerance=criterion)


def _to_float16(operand: OperandSpec) -> OperandSpec:
    if operand.type not in IN_FLOAT16:
        return operand
    return replace(
        operand, type=IN_FLOAT16[operand.type], data=None if operand.data is None else _as_float16(operand.data)
    )


def _as_float16(array: Array) -> Array:
    with np.errstate(over="ignore"):
        return array.astype(np.float16)
