"""Extraction of operations from a model into a model of their own."""

from collections import Counter
from collections.abc import Mapping, Sequence

from nnapi.model.described_operand import copy_operand
from nnapi.model.model import Lifetime, Model, OperationCall

VARIABLE = (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)


def count_reads(calls: Sequence[OperationCall]) -> Counter[int]:
    """Count the inputs that read each operand."""
    return Counter(index for call in calls for index in call.inputs)


def make_submodel(
    model: Model, calls: list[OperationCall], reads: Mapping[int, int] | None = None
) -> tuple[Model, tuple[int, ...], tuple[int, ...]]:
    """Return a model of these calls, and the indices in ``model`` of its inputs and outputs. Constants are shared, not
    copied. ``reads`` are the counts for ``model``, if known."""
    written = {index for call in calls for index in call.outputs}
    reads = count_reads(model.operations) if reads is None else reads
    own, given = count_reads(calls), set(model.outputs)
    part = Model(f"{model.name}[{', '.join(str(call.number) for call in calls[:3])}{'…' if calls[3:] else ''}]")
    part.permit_as(model)
    indices: dict[int, int] = {}
    for call in calls:
        for index in (*call.inputs, *call.outputs):
            if index not in indices:
                indices[index] = copy_operand(model.operands[index], part)
    inputs = tuple(i for i in indices if i not in written and model.operands[i].lifetime in VARIABLE)
    outputs = tuple(i for i in indices if i in written and (reads[i] > own[i] or i in given))
    for call in calls:
        part.add_operation(call.code, [indices[i] for i in call.inputs], [indices[i] for i in call.outputs])
    part.assign_roles([indices[i] for i in inputs], [indices[i] for i in outputs])
    part.freeze()
    return part, inputs, outputs
