"""Opaque memories for tests, and a device that allocates them."""

from collections.abc import Sequence

from nnapi import Compilation, DeviceMemory, MemoryDesc, Model, OperandType
from nnapi.contract.driver import Verdict
from nnapi.contract.host_memory import HostBuffer
from nnapi.errors import ResourceExhaustedPersistentError
from tests.runtime.device_cases import Scripted, as_it_is


def described(*roles: tuple[Compilation, str, int]) -> MemoryDesc:
    desc = MemoryDesc()
    for compilation, role, index in roles:
        getattr(desc, f"add_{role}_role")(compilation, index, 1.0)
    return desc


def opaque(*roles: tuple[Compilation, str, int]) -> DeviceMemory:
    desc = described(*roles)
    desc.finish()
    return desc.create_memory()


class Allocating(Scripted):
    """A device with memory of its own."""

    def __init__(
        self, name: str = "allocating", fails: bool = False, takes: int | None = None, lies: bool = False
    ) -> None:
        super().__init__(as_it_is, name)
        self.takes = takes
        self.fails, self.lies = fails, lies
        self.buffers: list[HostBuffer] = []

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        """All operations, or only those of one code."""
        return [Verdict(self.takes in (None, call.code), f"{call}: not taken") for call in model.operations]

    def allocate(self, type: OperandType) -> HostBuffer:
        if self.fails:
            raise ResourceExhaustedPersistentError("no memory left on the device")
        if self.lies:
            return None
        self.buffers.append(HostBuffer())
        return self.buffers[-1]
