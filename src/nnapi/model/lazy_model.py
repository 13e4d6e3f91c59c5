"""A model that runs from a cache and is described on demand."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from nnapi.locks import make_lock
from nnapi.model.model import Model, Operand


class LazyModel(Model):
    """A finished model that calls ``describe`` once, at the first access to more than its inputs and outputs."""

    def __init__(
        self, name: str, inputs: Sequence[Operand], outputs: Sequence[Operand], describe: Callable[[], Model]
    ) -> None:
        super().__init__(name)
        self.inputs = tuple(operand.index for operand in inputs)
        self.outputs = tuple(operand.index for operand in outputs)
        self.operands = LazyOperands((*inputs, *outputs), self._describe_whole)
        self.state.value = "finished"
        self._describe, self._lock = describe, make_lock()
        for attribute in DESCRIBED:
            del self.__dict__[attribute]

    def __getattr__(self, name: str) -> Any:
        if name not in DESCRIBED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._describe_whole()
        return self.__dict__[name]

    @property
    def is_described(self) -> bool:
        return not isinstance(self.operands, LazyOperands)

    def need_mapped(self) -> None:
        """Check mapped constants once the model is described."""
        if self.is_described:
            super().need_mapped()

    def _describe_whole(self) -> Sequence[Operand]:
        with self._lock:
            if not self.is_described:
                whole = self._describe()
                self.__dict__.update({name: getattr(whole, name) for name in DESCRIBED})
                self.operands = whole.operands
        return self.operands


class LazyOperands(Sequence[Operand]):
    """The operands of a model: inputs and outputs now, all others on demand."""

    def __init__(self, known: Sequence[Operand], describe: Callable[[], Sequence[Operand]]) -> None:
        self._known = {operand.index: operand for operand in known}
        self._describe = describe

    @overload
    def __getitem__(self, index: int) -> Operand: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Operand]: ...
    def __getitem__(self, index: int | slice) -> Operand | Sequence[Operand]:
        found = self._known.get(index) if isinstance(index, int) else None
        return self._describe()[index] if found is None else found

    def __len__(self) -> int:
        return len(self._describe())

    def __iter__(self) -> Iterator[Operand]:
        return iter(self._describe())


DESCRIBED = ("operations", "notes", "precision", "signature")
