"""Describe finished models by plain values, which can be pickled."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from nnapi.model.extension import EXTENSIONS
from nnapi.model.graph import Graph, Lifetime, StatePair
from nnapi.model.nesting import list_nested
from nnapi.model.operand import OperandType
from nnapi.model.precision import Precision

M = TypeVar("M")
Code = tuple[str | None, int]
"""A built-in type code, or the name of an extension and a code within it."""


class Description(NamedTuple):
    """One model. The value of an operand is an array, or the index of a referenced model's description."""

    name: str
    operands: Sequence[tuple[str, Code, OperandType, Lifetime, Any]]
    operations: Sequence[tuple[Code, tuple[int, ...], tuple[int, ...]]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    precision: Precision
    notes: tuple[str, ...]
    dynamic_range: bool = False
    rounded_states: bool = False
    states: tuple[StatePair, ...] = ()
    high_ranks: bool = False
    empty_tensors: bool = False
    empty_inputs: tuple[int, ...] = ()


def describe(model: Graph) -> list[Description]:
    """Describe a model and the models that it refers to, itself last; its constants must be mapped."""
    models = list_nested(model)
    indices = {each: index for index, each in enumerate(models)}
    return [
        Description(
            each.name,
            [
                (o.name, _portable(o.type.code), o.type, o.lifetime, indices.get(o.value) if _refers(o) else o.value)
                for o in each.operands
            ],
            [(_portable(c.code), c.inputs, c.outputs) for c in sorted(each.operations, key=lambda call: call.number)],
            each.inputs,
            each.outputs,
            each.precision,
            each.notes,
            each.dynamic_range,
            each.rounded_states,
            each.states,
            each.high_ranks,
            each.empty_tensors,
            tuple(sorted(each.empty_inputs)),
        )
        for each in models
    ]


def describe_with_outputs(model: Graph, indices: Sequence[int]) -> list[Description]:
    *inner, outer = describe(model)
    roles = {Lifetime.OUTPUT: Lifetime.TEMPORARY}
    operands = [(name, code, type, roles.get(life, life), value) for name, code, type, life, value in outer.operands]
    return [*inner, outer._replace(operands=operands, outputs=tuple(indices))]


def describe_with_states(model: Graph) -> list[Description]:
    """Describe a model whose states are inputs and outputs, behind its own; those that runs do not change are inputs
    only."""
    *inner, outer = describe(model)
    operands = list(outer.operands)
    for initial, _ in outer.states:
        operands[initial] = (*operands[initial][:3], Lifetime.INPUT, None)
    inputs = (*outer.inputs, *(state.initial for state in outer.states))
    outputs = (*outer.outputs, *(state.final for state in outer.states if state.final is not None))
    return [*inner, outer._replace(operands=operands, inputs=inputs, outputs=outputs, states=())]


def build(make: Callable[[str], M], descriptions: Sequence[Description]) -> M:
    """Return the finished model described last; ``make`` creates an empty one."""
    models: list[Any] = []
    for description in descriptions:
        model: Any = make(description.name)
        model.permit_as(description)
        for name, code, type, lifetime, value in description.operands:
            index = model.add_operand(type.replace(code=_local(code)), name)
            if lifetime is Lifetime.SUBGRAPH:
                model.set_operand_value_from_model(index, models[value])
            elif lifetime is Lifetime.CONSTANT:
                value.flags.writeable = False  # no other reference to it exists, so no copy is needed
                model.set_operand_value(index, value)
            elif lifetime is Lifetime.NO_VALUE:
                model.set_operand_value(index, None)
        for code, inputs, outputs in description.operations:
            model.add_operation(_local(code), inputs, outputs)
        model.assign_roles(description.inputs, description.outputs)  # a partition of a plan may lack inputs
        model.finish()
        model.notes, model.states = description.notes, description.states
        model.empty_inputs = frozenset(description.empty_inputs)
        models.append(model)
    last: M = models[-1]
    return last


def _refers(operand: Any) -> bool:
    return operand.lifetime is Lifetime.SUBGRAPH


def _portable(code: int) -> Code:
    extension = EXTENSIONS.name(code)
    return (extension, code & 0xFFFF) if extension else (None, int(code))


def _local(code: Code) -> int:
    extension, number = code
    return number if extension is None else EXTENSIONS.type(extension, number)
