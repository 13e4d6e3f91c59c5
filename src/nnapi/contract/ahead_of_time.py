"""Compilation for other machines."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from nnapi.contract.driver import Caches, Driver


@runtime_checkable
class CompilesAhead(Caches, Protocol):
    """A driver whose cache entries are compiled for other machines, its targets, such as a vendor's chips."""

    def list_targets(self) -> Sequence[str]:
        """Return the names of the targets; empty if the driver has none."""
        ...

    def retarget(self, target: str) -> Driver:
        """Return the same driver for one of the targets."""
        ...

    def list_files(self, entry: bytes) -> Mapping[str, bytes]:
        """Return the files that programs on the target load, by the end of their names."""
        ...
