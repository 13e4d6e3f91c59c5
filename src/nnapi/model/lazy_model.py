"""A model that runs from a cache and is described on demand."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload
from weakref import ref

from nnapi.locks import make_lock
from nnapi.model.model import Model, Operand


class _Description:
    """The whole model, made once. A reference to its owner would leave both to the garbage collector."""

    def __init__(self, owner: "LazyModel", describe: Callable[[], Model]) -> None:
        self._owner, self._describe, self._lock = ref(owner), describe, make_lock()
        self._whole: Model | None = None

    def make(self) -> Model:
        with self._lock:
            if self._whole is None:
                self._whole = self._describe()
                owner = self._owner()
                if owner is not None:
                    owner.adopt(self._whole)
            return self._whole


class LazyModel(Model):
    """A finished model that calls ``describe`` once, at the first access to more than its inputs and outputs."""

    def __init__(
        self, name: str, inputs: Sequence[Operand], outputs: Sequence[Operand], describe: Callable[[], Model]
    ) -> None:
        super().__init__(name)
        self.inputs = tuple(operand.index for operand in inputs)
        self.outputs = tuple(operand.index for operand in outputs)
        self._description = _Description(self, describe)
        self.operands = LazyOperands((*inputs, *outputs), self._description)
        self.empty_tensors = True  # files have them
        self.state.value = "finished"
        for attribute in DESCRIBED:
            del self.__dict__[attribute]

    def __getattr__(self, name: str) -> Any:
        if name not in DESCRIBED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._description.make()
        return self.__dict__[name]

    def adopt(self, whole: Model) -> None:
        """Take the description of the whole model."""
        self.__dict__.update({name: getattr(whole, name) for name in DESCRIBED})
        self.operands = whole.operands

    @property
    def is_described(self) -> bool:
        return not isinstance(self.operands, LazyOperands)

    def need_mapped(self) -> None:
        """Check mapped constants once the model is described."""
        if self.is_described:
            super().need_mapped()


class LazyOperands(Sequence[Operand]):
    """The operands of a model: inputs and outputs now, all others on demand."""

    def __init__(self, known: Sequence[Operand], description: _Description) -> None:
        self._known = {operand.index: operand for operand in known}
        self._description = description

    @overload
    def __getitem__(self, index: int) -> Operand: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Operand]: ...
    def __getitem__(self, index: int | slice) -> Operand | Sequence[Operand]:
        found = self._known.get(index) if isinstance(index, int) else None
        return self._description.make().operands[index] if found is None else found

    def __len__(self) -> int:
        return len(self._description.make().operands)

    def __iter__(self) -> Iterator[Operand]:
        return iter(self._description.make().operands)


DESCRIBED = ("operations", "notes", "precision", "dynamic_range", "rounded_states", "high_ranks", "signature", "states")
