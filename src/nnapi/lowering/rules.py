"""The lowering rules of operations; their modules are imported at first use."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from nnapi.operation_codes import CODES, FAMILY_OF, Code

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)


class Rules(Mapping[int, Rule]):
    """Lowering rules by operation code: the rules of ``package``, and those of ``base`` for all other operations.

    Modules named after a family (``recurrent``, ``recurrent_lstm``) are imported at the first look-up of one of its
    operations. A model needs few families, and importing all would slow the start of a process.
    """

    def __init__(self, package: str = "", base: "Rules | None" = None) -> None:
        self.package, self.base = package, base
        self.own: dict[int, Rule] = {}
        self._imported: set[str] = set()

    def find(self, code: int) -> Rule | None:
        family = FAMILY_OF.get(code)
        if self.package and family and family not in self._imported:
            for module in iter_modules(import_module(self.package).__path__):
                if f"{module.name}_".startswith(f"{family}_"):
                    import_module(f"{self.package}.{module.name}")  # waits if another thread is importing it
            self._imported.add(family)
        return self.own.get(code) or (self.base.find(code) if self.base is not None else None)

    def __getitem__(self, code: int) -> Rule:
        rule = self.find(code)
        if rule is None:
            raise KeyError(code)
        return rule

    def __iter__(self) -> Iterator[int]:
        return (code for code in CODES.values() if self.find(code))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def lower(self, *operations: Code) -> Callable[[R], R]:
        """Register a rule for operations. The rule takes a context and the call's arguments by name, with the engine's
        values for tensors. It returns the value of each result."""

        def register(rule: R) -> R:
            self.own.update(dict.fromkeys(operations, rule))
            return rule

        return register
