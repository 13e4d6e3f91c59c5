"""The rules of a format by operation; a module of rules is imported at first use."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Generic, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])


class RuleTable(Generic[Rule]):
    """The rules in a package's modules. ``families`` lists each module's operations; the package's
    ``inexpressible.REASONS`` explains why others are refused."""

    def __init__(self, package: str, families: Mapping[str, Sequence[str]]) -> None:
        self.package = package
        self.modules = {kind: module for module, kinds in families.items() for kind in kinds}
        self.registered: dict[str, Rule] = {}
        self._found: dict[str, Rule] = {}

    def __contains__(self, kind: str) -> bool:
        return kind in self.modules

    def rule(self, *kinds: str) -> Callable[[Rule], Rule]:
        def register(function: Rule) -> Rule:
            for kind in kinds:
                assert kind not in self.registered, kind
                self.registered[kind] = function
            return function

        return register

    def __getitem__(self, kind: str) -> Rule:
        """Return the rule of an operation that has one; import its module if needed. Safe in any thread."""
        found = self._found.get(kind)
        if found is None:
            import_module(f"{self.package}.{self.modules[kind]}")  # waits while another thread imports it
            found = self._found[kind] = self.registered[kind]
        return found

    def find(self, kind: str) -> Rule | None:
        if kind not in self.modules:
            return None
        return self[kind]

    def reason(self, kind: str) -> str:
        reasons: Mapping[str, str] = import_module(f"{self.package}.inexpressible").REASONS
        return reasons.get(kind, "NNAPI has no such operation")
