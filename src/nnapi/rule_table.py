"""Tables of rules by operation; the modules of rules are imported at first use."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias, TypeVar

from nnapi.operation_codes import CODES, FAMILY_OF

K = TypeVar("K", bound=int | str)
R = TypeVar("R", bound=Callable[..., Any])
F = TypeVar("F", bound=Callable[..., Any])


class RuleTable(Mapping[K, R]):
    """The rules in modules of ``package`` by operation, and those of ``base`` for all other operations.

    ``modules`` has the module of each operation. Without it, the rules of an operation are in the modules named after
    its family (``recurrent``, ``recurrent_lstm``). Modules are imported at the first look-up of one of their
    operations: a model needs few, and importing all would slow the start of a process.
    """

    def __init__(
        self, package: str = "", base: "RuleTable[K, R] | None" = None, *, modules: Mapping[K, str] | None = None
    ) -> None:
        self.package, self.base, self.modules = package, base, modules
        self.own: dict[K, R] = {}
        self._imported: set[K] = set()

    def register(self, *operations: K) -> Callable[[F], F]:
        """Register a rule for operations."""

        def register(rule: F) -> F:
            for operation in operations:
                assert operation not in self.own, operation
                self.own[operation] = rule  # type: ignore[assignment]  # tables with strict rules narrow the decorator
            return rule

        return register

    def find(self, operation: K) -> R | None:
        """Return the rule of an operation, None without one. Safe in any thread."""
        if operation not in self._imported:
            for module in self._modules_of(operation):
                import_module(f"{self.package}.{module}")  # waits while another thread imports it
            self._imported.add(operation)
        return self.own.get(operation) or (self.base.find(operation) if self.base is not None else None)

    def _modules_of(self, operation: K) -> Sequence[str]:
        if self.modules is not None:
            return [self.modules[operation]] if operation in self.modules else ()
        family = FAMILY_OF.get(operation)  # type: ignore[arg-type]  # the keys of such tables are codes
        return _modules_of_family(self.package, family) if self.package and family else ()

    def __getitem__(self, operation: K) -> R:
        rule = self.find(operation)
        if rule is None:
            raise KeyError(operation)
        return rule

    def __iter__(self) -> Iterator[K]:
        known: Any = CODES.values() if self.modules is None else self.modules
        return (operation for operation in known if self.find(operation))

    def __len__(self) -> int:
        return sum(1 for _ in self)


LoweringRules: TypeAlias = RuleTable[int, Callable[..., Any]]
"""A rule takes a context and the call's arguments by name, with the engine's values for tensors. It returns the value
of each result."""


@cache
def _modules_of_family(package: str, family: str) -> Sequence[str]:
    names = [module.name for module in iter_modules(import_module(package).__path__)]
    return [name for name in names if f"{name}_".startswith(f"{family}_")]
