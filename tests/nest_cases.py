"""IF within IF."""

from nnapi import Builder, Model, OperandCode, OperandType, OperationCode, tensor

DEEP = 1500
"""Deeper than calls of Python go."""
PAIR, TRUTH = tensor("float32", (2,)), tensor("bool8", (1,))


def nest(depth: int, is_shared: bool = False) -> Model:
    """|x| where the flag is set, else -x, decided so often over; with shared models |x| in any case."""
    inner, other = _leaf("abs"), _leaf("neg")
    for level in range(depth):
        model = Model(f"level {level}")
        flag, x, y = model.add_operand(TRUTH), model.add_operand(PAIR), model.add_operand(PAIR)
        branches = [model.add_operand(OperandType(OperandCode.MODEL)) for _ in range(2)]
        for branch, value in zip(branches, (inner, inner if is_shared else other), strict=True):
            model.set_operand_value_from_model(branch, value)
        model.add_operation(OperationCode.IF, [flag, *branches, flag, x], [y])
        model.identify_inputs_and_outputs([flag, x], [y])
        model.finish()
        inner = model
    return inner


def _leaf(operation: str) -> Model:
    b = Builder(operation)
    _, x = b.input(TRUTH), b.input(PAIR)
    b.output(getattr(b, operation)(x))
    return b.finish()
