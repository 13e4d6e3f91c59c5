"""Conformance examples of one operation, written with a builder: every operation's method gives the right types."""

from typing import Any

import numpy as np
import pytest

from nnapi import ChannelQuantization, OperandType
from nnapi.model.builder import Builder, Tensor
from nnapi.model.builder_signatures import method_name
from nnapi.model.operand import combine
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.testing.corpus import Corpus
from nnapi.testing.example import Example, OperandSource, OperandSpec

CONTROL_FLOW = {"IF", "WHILE"}


def type_of(spec: OperandSpec, example: Example, index: int) -> OperandType:
    """The operand's type, with the dimensions of the example's data."""
    value = example.inputs.get(index)
    dimensions = spec.dimensions if value is None or spec.operand_type.is_scalar else value.shape
    scales = spec.channel_quant
    channel = ChannelQuantization(scales.channel_dim, scales.scales) if scales and not scales.hide else None
    return OperandType(spec.code, dimensions, spec.scale, spec.zero_point, channel)


def given(b: Builder, spec: OperandSpec, example: Example, index: int) -> Any:
    """Return the argument that a caller would write for an operand: scalars as numbers."""
    type = type_of(spec, example, index)
    if spec.lifetime == OperandSource.SUBGRAPH_INPUT:
        return b.input(type)
    if spec.lifetime == OperandSource.NO_VALUE:
        return None
    assert spec.data is not None
    if not type.is_scalar:
        return b.constant(np.ascontiguousarray(spec.data), type)
    number = spec.data.reshape(-1)[0]
    return bool(number) if spec.type == "BOOL" else number


def written(example: Example) -> list[Tensor]:
    b = Builder(example.name)
    (operation,) = example.main.operations
    specs = example.main.operands
    arguments = {i: given(b, specs[i], example, i) for i in dict.fromkeys(operation.inputs)}
    out = [OperandType(specs[i].code, (), specs[i].scale, specs[i].zero_point) for i in operation.outputs]
    method = getattr(b, method_name(REGISTRY[CODES[operation.type]]))
    results = method(*(arguments[i] for i in operation.inputs), out=out)
    results = list(results) if isinstance(results, tuple) else [results]
    b.output(*results)
    b.finish()
    return results


@pytest.mark.slow
def test_one_example_of_every_operation(corpus: Corpus) -> None:
    first: dict[str, Any] = {}
    for entry in corpus.entries:
        if len(entry.ops) == 1 and not entry.expect_failure and entry.ops[0] not in CONTROL_FLOW:
            first.setdefault(entry.ops[0], entry)
    assert len(first) >= 100
    for entry in first.values():
        (example,) = corpus.load(entry.file, [entry.name])
        if len(example.main.operations) > 1:
            continue
        results = written(example)
        for index, result in zip(example.main.operations[0].outputs, results, strict=True):
            expected = example.outputs.get(index)
            assert result.type.code == example.main.operands[index].code
            assert expected is None or combine(result.shape, expected.shape) is not None or result.type.is_scalar
