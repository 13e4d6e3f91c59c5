"""Build a model by calling operations as methods, on arrays, numbers and results of other operations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, NnapiError, need, need_instance
from nnapi.model.arguments import Argument, arrange, constant
from nnapi.model.arithmetic import Arithmetic
from nnapi.model.builder_operations import Operations
from nnapi.model.builder_signatures import method_name
from nnapi.model.described_operand import describe
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, tensor
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import Several
from nnapi.model.result_types import result_types
from nnapi.operation_codes import Code


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(Arithmetic):
    """A value in a model being built: an input, a constant, or a result. ``x * 2 + y`` appends a MUL and an ADD."""

    builder: "Builder"
    index: int
    type: OperandType
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.dimensions

    def apply(self, code: Code, *others: Any) -> "Tensor":
        return getattr(self.builder, method_name(REGISTRY[code]))(self, *others)  # type: ignore[no-any-return]

    def beside(self, number: Any) -> Any:
        return self.builder.constant(np.full(1, number, self.type.dtype))

    def __repr__(self) -> str:
        return f"<{self.name or 'operand'} ({self.index}): {self.type}>"


class Builder(Operations):
    """A model under construction, with one method per operation.

    The declared signatures define the methods: ``help(Builder.softmax)`` describes one. Operands are given in order or
    by name: tensors of this builder, arrays and lists (which become constants), numbers, finished Models, None for an
    optional one. Trailing defaults may be omitted. ``out`` (a type, or a list of them) or ``scale`` and ``zero_point``
    complete the type of the result. Errors name the operation and the operand.
    """

    def __init__(self, name: str = "model") -> None:
        self.model = Model(name)
        self.model.permit_high_ranks(True)
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._values: dict[int, Array] = {}

    def input(self, type: OperandType, name: str = "") -> Tensor:
        """Add a model input. A dimension of 0 is unspecified until the model runs."""
        need_instance(type, OperandType, "type", "nnapi.tensor() makes it")
        index = describe(self.model, type, name)
        self._inputs.append(index)
        return Tensor(self, index, type, name)

    def constant(self, value: Any, type: OperandType | None = None, name: str = "") -> Tensor:
        """Add a constant; ``value`` is an array, list or number.

        By default the type follows from the array; quantized values need a ``type``. A type without dimensions gets
        those of the array.
        """
        return self._tensor(self._add_argument(constant(value, type, {}, name or "the constant"), name))

    def output(self, *tensors: Tensor) -> None:
        for each in tensors:
            known = isinstance(each, Tensor) and each.builder is self
            need(known, f"{each!r} is not a tensor of this model", BadDataError)
            self._outputs.append(each.index)

    def finish(self) -> Model:
        """Identify the inputs and outputs, in the order in which they were added; validate and freeze the model."""
        self.model.identify_inputs_and_outputs(self._inputs, self._outputs)
        self.model.finish()
        return self.model

    def __repr__(self) -> str:
        return f"<nnapi.Builder of {self.model!r}>"

    # Adding an operation

    def _add(
        self,
        operation: Operation,
        given: Sequence[Any],
        named: dict[str, Any],
        *,
        out: Any,
        scale: float | None,
        zero_point: int,
        name: str,
    ) -> Tensor | tuple[Tensor, ...]:
        self.model.state.need("building", to=f"add {operation.name}")
        number, mark = len(self.model.operations), len(self.model.operands)
        try:
            arranged = arrange(
                operation, self._unwrap(given), {key: self._unwrap(value) for key, value in named.items()}
            )
            types = result_types(operation, arranged, _list_types(out), scale, zero_point)
            inputs = [self._add_argument(argument, slot.name) for slot, row in arranged for argument in row]
            name = name or f"{operation.name.lower()}_{number}"
            names = [f"{name}_{i}" for i in range(len(types))] if len(types) > 1 else [name]
            results = [describe(self.model, type, each) for type, each in zip(types, names, strict=False)]
            self.model.add_operation(operation.code, inputs, results)
        except NnapiError as error:
            del self.model._operands[mark:]  # a model with unused operands cannot be finished
            self._values = {index: value for index, value in self._values.items() if index < mark}
            raise error.at(f"{operation.name} (#{number})") from None
        tensors = tuple(self._tensor(index) for index in results)
        return tensors[0] if len(tensors) == 1 and not isinstance(operation.outputs[0], Several) else tensors

    def _unwrap(self, value: Any) -> Any:
        """Replace tensors of this builder, also in lists, by arguments; return other values unchanged."""
        if isinstance(value, Tensor):
            need(value.builder is self, f"{value!r} belongs to another model", BadDataError)
            return Argument(value.type, self._values.get(value.index), value.index)
        return [self._unwrap(each) for each in value] if isinstance(value, list | tuple) else value

    def _add_argument(self, argument: Argument, name: str) -> int:
        if argument.index is not None:
            return argument.index
        index = describe(self.model, argument.type, name, argument.value, omitted=argument.value is None)
        if isinstance(argument.value, np.ndarray):
            self._values[index] = argument.value
        return index

    def _tensor(self, index: int) -> Tensor:
        operand = self.model.operands[index]
        return Tensor(self, index, operand.type, operand.name)


def _list_types(out: Any) -> list[OperandType]:
    listed = out if isinstance(out, list | tuple) else [] if out is None else [out]
    types = [tensor(each) if isinstance(each, str) else each for each in listed]
    bad = next((type for type in types if not isinstance(type, OperandType)), None)
    need(bad is None, f"out is {bad!r}, must be a type, as nnapi.tensor gives", BadDataError)
    return types
