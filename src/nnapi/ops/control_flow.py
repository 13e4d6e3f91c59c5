"""IF and WHILE. They have no shape functions or kernels, because results are those of the referenced models.

IF: the results of one of two models, chosen by a condition.
WHILE: a body model, repeated while a condition model gives true.
"""

from collections.abc import Sequence

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need, need_value
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, combine
from nnapi.model.operation import Operation
from nnapi.model.parameter import AnyParameter, ModelParameter, Several, Tensor
from nnapi.ops.signature_types import BOOL8


def _model(name: str) -> ModelParameter:
    return ModelParameter(name, OperandCode.MODEL, since=4)


def _any(name: str, least: int) -> Several:
    return Several(AnyParameter(name, since=4), least)


IF = Operation(
    OperationCode.IF,
    inputs=(
        Tensor("condition", BOOL8, since=4, rank=1),
        _model("then_model"),
        _model("else_model"),
        _any("inputs", least=0),
    ),
    outputs=(_any("outputs", least=1),),
    zero_sized=True,
)

WHILE = Operation(
    OperationCode.WHILE,
    inputs=(_model("condition_model"), _model("body_model"), _any("inputs", least=1)),
    outputs=(_any("outputs", least=1),),
    zero_sized=True,
)


@IF.check
def branches_fit(
    condition: OperandType,
    then_model: Model | None,
    else_model: Model | None,
    inputs: Sequence[OperandType],
    outputs: Sequence[OperandType],
) -> None:
    _need_truth_value("condition", condition)
    for name, branch in (("then_model", then_model), ("else_model", else_model)):
        model = _need_model(name, branch)
        _need_count(name, "inputs", model.inputs, len(inputs))
        _need_count(name, "outputs", model.outputs, len(outputs))
        _need_pairs(f"{name} input", _types(model, model.inputs), "inputs", inputs)
        _need_pairs(f"{name} output", _types(model, model.outputs), "outputs", outputs)


@WHILE.check
def condition_and_body_fit(
    condition_model: Model | None,
    body_model: Model | None,
    inputs: Sequence[OperandType],
    outputs: Sequence[OperandType],
) -> None:
    condition, body = _need_model("condition_model", condition_model), _need_model("body_model", body_model)
    _need_count("condition_model", "inputs", condition.inputs, len(inputs))
    _need_count("condition_model", "outputs", condition.outputs, 1)
    _need_truth_value("condition_model output 0", _types(condition, condition.outputs)[0])
    _need_count("body_model", "inputs", body.inputs, len(inputs))
    state = len(body.outputs)
    need(
        len(outputs) <= state <= len(inputs),
        f"body_model has {state} outputs, must have at least the {len(outputs)} of the operation and at most one for "
        f"each of the {len(inputs)} inputs",
        BadDataError,
    )
    given, results = _types(body, body.inputs), _types(body, body.outputs)
    _need_pairs("condition_model input", _types(condition, condition.inputs), "inputs", inputs)
    _need_pairs("body_model input", given, "inputs", inputs)
    _need_pairs("body_model output", results[: len(outputs)], "outputs", outputs)
    _need_pairs("body_model output", results, "body_model input", given[:state])


def _need_truth_value(label: str, type: OperandType) -> None:
    need(
        type.code == OperandCode.TENSOR_BOOL8 and type.dimensions == (1,),
        f"{label} is {type}, must be TENSOR_BOOL8[1]",
        BadDataError,
    )


def _need_model(name: str, model: Model | None) -> Model:
    return need_value(model, f"{name} has not been given its model", BadDataError)


def _need_count(name: str, what: str, found: Sequence[int], wanted: int) -> None:
    need(len(found) == wanted, f"{name} has {len(found)} {what}, must have {wanted}", BadDataError)


def _types(model: Model, indices: Sequence[int]) -> list[OperandType]:
    return [model.operands[index].type for index in indices]


def _need_pairs(label: str, inner: Sequence[OperandType], other: str, outer: Sequence[OperandType]) -> None:
    for position, (x, y) in enumerate(zip(inner, outer, strict=True)):
        need(_compatible(x, y), f"{label} {position} is {x}, but {other} {position} is {y}", BadDataError)


def _compatible(a: OperandType, b: OperandType) -> bool:
    """Return whether two types are equal, except for dimensions, which must not contradict each other."""
    return a.with_dimensions(()) == b.with_dimensions(()) and combine(a.dimensions, b.dimensions) is not None
