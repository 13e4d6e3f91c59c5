"""The C prototypes of the headers, parsed: each function's result and parameters.

This module imports nothing of the package, because the C build reads it before the package is installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PROTOTYPES: dict[str, tuple[str, str]] = {
    name: (result, " ".join(parameters.split()))
    for path in sorted(Path(__file__).resolve().with_name("include").rglob("*.h"))
    for result, name, parameters in re.findall(
        r"^(\w[\w *]*) (\w+)\(([^;]*)\);$", path.read_text("utf-8"), re.MULTILINE
    )
}
"""The result and the parameters of each declared function."""

OBJECTS = ("Burst", "Compilation", "Device", "Event", "Execution", "Memory", "MemoryDesc", "Model")
HANDLES = {f"ANeuralNetworks{name}": name for name in OBJECTS} | {"AHardwareBuffer": "HardwareBuffer"}
"""Opaque types of C, and the kind of object behind their handles."""

COUNTS = {
    "inputs": "inputCount",
    "outputs": "outputCount",
    "dimensions": "rank",
    "devices": "numDevices",
    "dependencies": "num_dependencies",
    "buffer": "length",
    "data": "length",
}
"""Pointers, and the parameter with their number of elements or bytes."""

SEVERAL = ("supportedOps", "dimensions")

WRITTEN = re.compile(r"A\w+\*\*|const char\*\*|void\*\*|(bool|int|u?int\d+_t|ANeuralNetworksOperationType)\*")
"""Types of output parameters."""


@dataclass(frozen=True)
class Parameter:
    """A parameter. ``count`` is the name of the parameter with the number of elements behind a pointer."""

    type: str
    name: str
    count: str | None = None

    @property
    def base(self) -> str:
        return self.type.replace("const", "").strip(" *")

    @property
    def kind(self) -> str | None:
        """Return the kind of object behind a handle, a list of handles or a pointer to a handle; None for others."""
        return HANDLES.get(self.base)

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type

    @property
    def is_output(self) -> bool:
        return WRITTEN.fullmatch(self.type) is not None

    @property
    def is_handle(self) -> bool:
        return self.kind is not None and self.type.count("*") == 1

    @property
    def bridge_type(self) -> str:
        """Return the parameter's type in the call from C to Python, where handles are integers."""
        if self.kind is None:
            return self.type
        return "uintptr_t" if self.is_handle else "uintptr_t*" if self.is_output else "const uintptr_t*"


@dataclass(frozen=True)
class Function:
    """One exported function.

    ``call`` is a Python expression over the converted parameters. Its value is stored through the output parameter, or
    returned. ``guard`` is evaluated before a structure is read. ``otherwise`` maps result codes of a failing call to
    the value that is stored. ``nullable`` names pointers that may be null. ``failure`` is returned by a failing
    function that has no result code. ``answer`` is a C expression that replaces the call into Python, so that the
    function never waits for the interpreter.
    """

    name: str
    call: str = ""
    guard: str = ""
    otherwise: Mapping[int, str] = field(default_factory=dict)
    nullable: tuple[str, ...] = ()
    failure: int | None = None
    answer: str = ""

    @property
    def result(self) -> str:
        return PROTOTYPES[self.name][0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        text = PROTOTYPES[self.name][1]
        pairs = [part.rpartition(" ")[::2] for part in text.split(", ")] if text != "void" else []
        names = {name for _, name in pairs}
        return tuple(
            Parameter(type, name, COUNTS[name] if "*" in type and COUNTS.get(name) in names else None)
            for type, name in pairs
        )

    @property
    def output(self) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.is_output), None)

    @property
    def returns_code(self) -> bool:
        return self.result == "int" and self.failure is None

    @property
    def frees(self) -> bool:
        return self.name.endswith("_free")

    @property
    def only_releases(self) -> bool:
        """Return whether the function only releases something, which is pointless once Python has ended."""
        return self.frees or self.name == "AHardwareBuffer_release"

    @property
    def only_waits(self) -> bool:
        """Return whether the function only waits for other threads, perhaps without end."""
        return self.name == "ANeuralNetworksEvent_wait"
