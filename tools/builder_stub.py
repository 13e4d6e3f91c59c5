"""Print the stub of the Builder's operations: one typed method per operation, from its declaration.

python -m tools.builder_stub > src/nnapi/model/builder_operations.pyi
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from nnapi.codes import OperandCode
from nnapi.model.arguments import default_of
from nnapi.model.builder_signatures import documentation, method_name
from nnapi.model.operation import REGISTRY, Operation, Overload
from nnapi.model.parameter import (
    REQUIRED,
    ActivationParameter,
    LayoutParameter,
    ModelParameter,
    Parameter,
    ScalarParameter,
    Several,
    Slot,
    ValuesParameter,
)

HEAD = '''\
"""The Builder's operations for type checkers and editors. Generated: python -m tools.builder_stub."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from nnapi.codes import FuseCode, PaddingCode
from nnapi.model.builder import Tensor
from nnapi.model.model import Model
from nnapi.model.operand import OperandType

Whole = int | np.integer[Any]
Number = float | np.number[Any]
Out = OperandType | str | Sequence[OperandType | str] | None

class Operations:
'''
OPTIONS = ("out: Out = None", "scale: float | None = None", "zero_point: int = 0", 'name: str = ""')
TENSOR = "Tensor | ArrayLike"
WHOLE = {OperandCode.INT32, OperandCode.UINT32}
WIDTH = 120


def main() -> None:
    print(make_stub(), end="")


def make_stub() -> str:
    """Return the text of the stub."""
    operations = sorted(REGISTRY.values(), key=lambda operation: operation.name)
    return HEAD + "".join(_make_method(operation) for operation in operations)


def _make_method(operation: Operation) -> str:
    variants = [variant for overload in operation.overloads for variant in _list_variants(overload)]
    decorator = "    @overload\n" if len(variants) > 1 else ""
    result = _make_result(operation)
    methods = []
    for number, parameters in enumerate(variants):
        line = f"    def {method_name(operation)}({', '.join(parameters)}) -> {result}:"
        if len(line) > WIDTH - 4:
            rows = "".join(f"        {parameter},\n" for parameter in parameters)
            line = f"    def {method_name(operation)}(\n{rows}    ) -> {result}:"
        first, _, rest = documentation(operation).partition("\n")
        text = f'\n        """{first}\n{textwrap.indent(rest, " " * 8)}\n        """\n' if number == 0 else " ...\n"
        methods.append(decorator + line + text)
    return "".join(methods)


def _list_variants(overload: Overload) -> Iterator[list[str]]:
    """Yield the parameter lists of an overload; a variable number of operands is passed one by one or as a sequence."""
    last = max((i for i, slot in enumerate(overload.inputs) if default_of(slot) is REQUIRED), default=-1)
    leading = [_make_parameter(slot, i > last) for i, slot in enumerate(overload.inputs)]
    if not overload.is_variadic:
        yield ["self", *leading, "*", *OPTIONS]
        return
    index = next(i for i, slot in enumerate(overload.inputs) if isinstance(slot, Several))
    several, before, after = overload.inputs[index], leading[:index], leading[index + 1 :]
    named = [parameter if "=" in parameter else f"{parameter} = ..." for parameter in after]
    yield ["self", *before, f"*{several.name}: {_make_type(several)}", *named, *OPTIONS]
    yield ["self", *before, f"{several.name}: Sequence[{_make_type(several)}]", *after, "*", *OPTIONS]


def _make_parameter(slot: Slot, may_be_omitted: bool) -> str:
    type, default = _make_type(slot), default_of(slot)
    if default is None and "None" not in type:
        type += " | None"
    if not may_be_omitted:
        return f"{slot.name}: {type}"
    return f"{slot.name}: {type} = {default if isinstance(default, bool | None) else '...'}"


def _make_type(slot: Slot) -> str:
    parameter: Parameter = slot.parameter if isinstance(slot, Several) else slot
    if isinstance(parameter, ModelParameter):
        return "Model"
    if isinstance(parameter, ActivationParameter):
        return "FuseCode | int | str"
    if isinstance(parameter, LayoutParameter):
        return "bool"
    if isinstance(parameter, ValuesParameter):
        return f"{TENSOR} | Sequence[int]"
    if isinstance(parameter, ScalarParameter):
        if parameter.name == "padding_scheme":
            return "PaddingCode | int | str"
        kinds = set(parameter.types)
        if kinds == {OperandCode.BOOL}:
            return "Tensor | bool"
        return "Tensor | Whole" if kinds and kinds <= WHOLE else "Tensor | Number"
    return f"{TENSOR} | None" if getattr(parameter, "optional", False) else TENSOR


def _make_result(operation: Operation) -> str:
    if len(operation.outputs) == 1 and not isinstance(operation.outputs[0], Several):
        return "Tensor"
    if operation.optional_outputs or any(isinstance(output, Several) for output in operation.outputs):
        return "Any" if operation.optional_outputs else "tuple[Tensor, ...]"
    return f"tuple[{', '.join(['Tensor'] * len(operation.outputs))}]"


if __name__ == "__main__":
    main()
