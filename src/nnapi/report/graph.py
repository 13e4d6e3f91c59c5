"""The graph of a plan as plain values."""

from collections.abc import Mapping
from typing import Any

from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.runtime.planning.explain import as_data
from nnapi.runtime.planning.plan import If, Plan, Run, While


def graph_data(plan: Plan) -> dict[str, Any]:
    """Return the operations, edges and nested graphs of a plan, ready for JSON.

    ``edges`` connect operations by number; ``from`` is None for the model's inputs, ``to`` for its outputs.
    """
    data = as_data(plan)
    steps = {number: index for index, step in enumerate(plan.steps) for number in _operations(step)}
    for operation, call in zip(data["operations"], plan.model.operations, strict=True):
        operation["step"] = steps.get(call.number)
        operation["outputs"] = _describe_outputs(plan.model, call)
    return {**data, "edges": _edges(plan.model), "nested": _graph_control_flow(plan)}


def model_data(model: Model) -> dict[str, Any]:
    """Return the same data for a model; its operations have no device, cost or reasons."""
    nothing: dict[str, Any] = {"device": "", "verdicts": {}, "seconds": {}}
    operations = [
        {"number": call.number, "operation": call.name, **nothing, "outputs": _describe_outputs(model, call)}
        for call in model.operations
    ]
    return {"model": model.name, "operations": operations, "edges": _edges(model), "nested": []}


def _describe_outputs(model: Model, call: OperationCall) -> list[str]:
    return [describe(model.operands[index]) for index in call.outputs]


def _operations(step: Run | If | While) -> tuple[int, ...]:
    return step.operations if isinstance(step, Run) else (step.operation,)


def describe(operand: Operand) -> str:
    """Describe an operand briefly: ``input: TENSOR_FLOAT32 [1, 224, 224, 3]``."""
    return f"{operand.name or f'operand {operand.index}'}: {operand.type}"


def _edges(model: Model) -> list[dict[str, Any]]:
    producers = {index: call.number for call in model.operations for index in call.outputs}
    moving = {o.index for o in model.operands if o.lifetime in (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)}
    pairs: list[tuple[int, int | None]] = [
        (index, call.number) for call in model.operations for index in dict.fromkeys(call.inputs) if index in moving
    ]
    pairs += [(index, None) for index in model.outputs]
    return [
        {
            "from": producers.get(index),
            "to": target,
            "operand": index,
            "tensor": describe(model.operands[index]),
            "bytes": model.operands[index].type.nbytes,
        }
        for index, target in pairs
    ]


def _graph_control_flow(plan: Plan) -> list[dict[str, Any]]:
    parts: list[tuple[str, Plan]] = []
    for step in plan.steps:
        if isinstance(step, If):
            parts += [(f"IF #{step.operation}, if true", step.then), (f"IF #{step.operation}, else", step.otherwise)]
        elif isinstance(step, While):
            parts += [(f"WHILE #{step.operation}, condition", step.condition)]
            parts += [(f"WHILE #{step.operation}, body", step.body)]
    return [{"title": title, "graph": graph_data(inner)} for title, inner in parts]


def devices(graph: Mapping[str, Any]) -> list[str]:
    """Return the devices that compute in a graph and its nested graphs, each once."""
    names = [operation["device"] for operation in graph["operations"]]
    names += [name for part in graph["nested"] for name in devices(part["graph"])]
    return list(dict.fromkeys(names))
