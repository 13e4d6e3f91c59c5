"""A model that an import made for some sizes, and the operands that other sizes change."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.importers.input_shapes import DYNAMIC
from nnapi.model.dynamic_model import OtherImportError
from nnapi.model.graph import Lifetime, Operand
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape, check_type
from nnapi.model.parameter import Several, TensorParameter, ValuesParameter
from nnapi.ops.shapes import axis_of
from nnapi.shapes.array import SymbolicArray, is_symbolic
from nnapi.shapes.rebinding import Rebinding
from nnapi.shapes.symbols import Substitution, Symbols

Further = Callable[[Mapping[str, Sequence[int]]], list[Array]]


def list_data(model: Model) -> list[int]:
    """Return the constants that operations only compute with: no shape depends on their values."""
    read: set[int] = set()
    data: dict[int, None] = {}
    for call in model.operations:
        if call.match is None:
            continue
        slots = {
            slot.name: slot.parameter if isinstance(slot, Several) else slot for slot in call.match.overload.inputs
        }
        for name, positions in call.match.inputs.items():
            is_data = isinstance(slots[name], TensorParameter) and not isinstance(slots[name], ValuesParameter)
            indices = [call.inputs[position] for position in positions if position < len(call.inputs)]
            if is_data:
                data.update(dict.fromkeys(indices))
            else:
                read.update(indices)
    return [index for index in data if index not in read and model.operands[index].lifetime is Lifetime.CONSTANT]


class InputSymbols(Symbols):
    """The symbols of inputs' dynamic dimensions. ``types`` and ``arrays`` are of operands that depend on sizes."""

    def __init__(self, *, is_general: bool = False) -> None:
        super().__init__(is_general=is_general)
        self.axes: list[tuple[str, int]] = []
        """The input and the axis of each symbol."""
        self.types: dict[int, OperandType] = {}
        self.arrays: dict[int, SymbolicArray] = {}

    def declare(self, name: str, declared: Shape, wanted: Shape) -> Shape:
        """Return the dimensions of an input: a symbol for each dynamic one."""
        shape = []
        for axis, (known, size) in enumerate(zip(declared, wanted, strict=True)):
            if known == DYNAMIC:
                self.axes.append((name, axis))
                size = self.add(size, f"{name}[{axis}]")
            shape.append(size)
        return tuple(shape)

    def record(self, index: int, type: OperandType, array: Array | None) -> tuple[OperandType, Array | None]:
        """Note operand ``index`` of the model; return its type and constant for the import's sizes."""
        self.types[index] = type
        if is_symbolic(array):
            self.arrays[index] = array
            array = array.number
        return type.replace(dimensions=self.own.shape(type.dimensions)), array


class SymbolicModel:
    """A model for some sizes that is specialized for others without another import."""

    def __init__(self, model: Model, symbols: InputSymbols) -> None:
        self._model, self._symbols = model, symbols

    @property
    def is_general(self) -> bool:
        """Whether the model makes no use of sizes that are 1."""
        return not any(self._symbols.ones.values())

    def find_broken(self, shapes: Mapping[str, Sequence[int]], *, is_general: bool = False) -> str:
        """Return the guard that keeps the model from being specialized for these shapes of inputs; empty if none.
        Unless the model shall be general, it must be simpler where sizes are 1."""
        sizes = self._substitution(shapes)
        return self._symbols.find_broken(sizes) or ("" if is_general else self._symbols.find_other_one(sizes))

    def specialize(self, shapes: Mapping[str, Sequence[int]]) -> Model:
        """Return the model for these shapes of inputs. It shares all operands that do not depend on sizes."""
        base, sizes = self._model, self._substitution(shapes)
        if list(sizes.numbers) == self._symbols.numbers:
            return base.with_operands(base.operands)  # a cache notes its entry for these sizes in the model
        operands = list(base.operands)
        for index, type in self._symbols.types.items():
            old = base.operands[index]
            made = operands[index] = Operand(index, _substitute(type, sizes), old.name, old.lifetime)
            made.in_memory, made.value = old.in_memory, old.value  # its sizes may be fixed
        for index, array in self._symbols.arrays.items():
            value = sizes.array(array)
            value.flags.writeable = False
            operands[index].value = value
        return base.with_operands(operands)

    def specialize_padded(
        self, padded: Mapping[str, Sequence[int]], run: Mapping[str, Sequence[int]]
    ) -> tuple[Model, Further]:
        """Return the model for the ``padded`` shapes of a run, and a function that returns its further inputs for a
        run's shapes, or raises OtherImportError if they break a guard.

        They are the constants that depend on sizes, and that padding must not change: those whose shapes do not, such
        as the positions of a decoder's tokens, and those that it lengthens, such as a mask that the file computes.
        """
        model, wide, own = self.specialize(padded), self._substitution(padded), self._substitution(run)
        is_masked = any(
            padded[name] != run[name] and self._model.operands[index].type.dtype.kind != "f"
            for index in self._model.inputs
            if (name := self._model.operands[index].name) in padded
        )

        def must_stay(array: SymbolicArray) -> bool:
            """Return whether the array differs from that of the run, beyond repetitions that an input masks."""
            if wide.shape(array.shape) == own.shape(array.shape):
                return True
            values = wide.array(array)
            return not is_masked or bool((values != values.flat[0]).any())

        arrays = self._symbols.arrays
        data = [index for index in list_data(model) if index in arrays and must_stay(arrays[index])]
        operands = list(model.operands)
        for index in data:
            old = operands[index]
            operands[index] = Operand(index, old.type, old.name, Lifetime.INPUT)
        made = model.with_operands(operands)
        made.inputs, made.origin = (*model.inputs, *data), None
        further = [arrays[index] for index in data]

        def find_further(shapes: Mapping[str, Sequence[int]]) -> list[Array]:
            need(not self.find_broken(shapes), "the sizes of the run break a guard", OtherImportError)
            return self._evaluate(further, shapes)

        return made, find_further

    def _evaluate(self, arrays: Sequence[SymbolicArray], shapes: Mapping[str, Sequence[int]]) -> list[Array]:
        sizes = self._substitution(shapes)
        return [sizes.array(array) for array in arrays]

    def describe_sized(self) -> tuple[Model, Symbols, Further]:
        """Return the model whose dimensions are sizes, their symbols, which record guards of their own, and a function
        that returns the model's further inputs for shapes that keep the guards: the constants that depend on sizes."""
        rebinding, base = Rebinding(self._symbols), self._model
        data = {index: self._symbols.arrays[index] for index in list_data(base) if index in self._symbols.arrays}
        operands = list(base.operands)
        for index, type in self._symbols.types.items():
            old = base.operands[index]
            lifetime = Lifetime.INPUT if index in data else old.lifetime
            type = type.replace(dimensions=rebinding.shape(type.dimensions))
            made = operands[index] = Operand(index, type, old.name, lifetime)
            if index in self._symbols.arrays and index not in data:
                made.value = rebinding.array(self._symbols.arrays[index])
            elif lifetime is Lifetime.CONSTANT:
                made.in_memory, made.value = old.in_memory, old.value
        model = base.with_operands(operands)
        model.inputs, model.origin = (*base.inputs, *data), None
        return model, rebinding.symbols, partial(self._evaluate, list(data.values()))

    def find_broken_by(self, symbols: Symbols, shapes: Mapping[str, Sequence[int]]) -> str:
        """Return the guard of the import or of other ``symbols`` that these shapes of inputs break; empty if none."""
        sizes = self._substitution(shapes)
        try:
            broken = self._symbols.find_broken(sizes) or symbols.find_broken(sizes)
            if broken or 0 not in sizes.numbers:
                return broken
            return (
                self._find_empty(sizes)
                or self._symbols.find_broken_by_empty(sizes)
                or symbols.find_broken_by_empty(sizes)
            )
        except ZeroDivisionError:
            return "a size of 0 divides another"

    def _find_empty(self, sizes: Substitution) -> str:
        """Describe a tensor that has no elements for these sizes, unless it only lengthens others: a decoder's past
        before the first token."""
        model = self._model
        empty = {
            index: shape for index, type in self._symbols.types.items() if 0 in (shape := sizes.shape(type.dimensions))
        }
        for call in model.operations:
            for index in empty.keys() & set(call.inputs):
                along = None
                if call.code == OperationCode.CONCATENATION:
                    along = axis_of(int(model.operands[call.inputs[-1]].value), len(empty[index]))
                if empty[index].index(0) != along:
                    return f"{call} reads {model.operands[index].name}, which has no elements"
        others = [index for index in empty if index not in model.inputs]
        return f"{model.operands[others[0]].name} has no elements" if others else ""

    def _substitution(self, shapes: Mapping[str, Sequence[int]]) -> Substitution:
        return Substitution([shapes[name][axis] for name, axis in self._symbols.axes])


def _substitute(type: OperandType, sizes: Substitution) -> OperandType:
    found = type.replace(dimensions=sizes.shape(type.dimensions))
    check_type(found)
    return found
