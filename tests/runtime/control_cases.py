"""Models with IF and WHILE."""

from nnapi import Builder, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.model.operand import Array
from tests.graphs import finished
from tests.runtime.device_cases import ABS, NEG

PAIR = tensor("float32", (2,))
TRUTH = tensor("bool8", (1,))


def branch(type: OperandType = PAIR, constant: Array | None = None) -> Model:
    """|x| where the flag is set, else -x; x is an input, or the constant."""
    parts = []
    for code in (ABS, NEG):
        b = Builder(code.name)
        x = b.input(type)
        b.output(b.abs(x) if code == ABS else b.neg(x))
        parts.append(b.finish())
    model = Model("branch")
    flag, x, y = model.add_operand(TRUTH), model.add_operand(type), model.add_operand(type)  # type: ignore[assignment]
    references = [model.add_operand(OperandType(OperandCode.MODEL)) for _ in parts]
    for reference, part in zip(references, parts, strict=True):
        model.set_operand_value_from_model(reference, part)
    model.add_operation(OperationCode.IF, [flag, *references, x], [y])  # type: ignore[list-item]
    if constant is not None:
        model.set_operand_value(x, constant)  # type: ignore[arg-type]
        return finished(model, [flag], [y])
    return finished(model, [flag, x], [y])  # type: ignore[list-item]


def counting(limit: float, states: int = 0) -> Model:
    """x + 1 for as long as all of x is below the limit; ``states`` more pairs go round, and do not come out."""
    b = Builder("condition")
    x, *_ = [b.input(PAIR) for _ in range(1 + states)]
    b.output(b.reduce_all(b.less(x, limit, out="bool8"), [0], True, out=TRUTH))
    condition = b.finish()
    b = Builder("body")
    x, *kept = [b.input(PAIR) for _ in range(1 + states)]
    b.output(b.add(x, 1.0, out=PAIR), *map(b.neg, kept))
    body = b.finish()
    model = Model("counting")
    references = [model.add_operand(OperandType(OperandCode.MODEL)) for _ in range(2)]
    for reference, part in zip(references, (condition, body), strict=True):
        model.set_operand_value_from_model(reference, part)
    *inputs, y = [model.add_operand(PAIR) for _ in range(2 + states)]
    model.add_operation(OperationCode.WHILE, [*references, *inputs], [y])
    return finished(model, inputs, [y])
