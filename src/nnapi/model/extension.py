"""Extensions: vendors' operand and operation types, with a prefix for each extension name."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nnapi.codes import OEM_OPERATION
from nnapi.errors import BadDataError, UnexpectedNullError, need, need_value
from nnapi.locks import make_lock

MAX_PREFIX = 0xFFFF
COMPOSITES = "nnapi.composites"
"""The extension of :class:`~nnapi.operation_codes.CompositeCode`. Its prefix is 1, so that its codes are constants."""


def is_legal(name: str) -> bool:
    return re.fullmatch(r"[a-z0-9_.]*\.[a-z0-9_.]*", name) is not None


class ExtensionType(NamedTuple):
    byte_size: int
    is_tensor: bool = True


class Extension(NamedTuple):
    """A driver's extension: its name and its operand types by number (0 to 65535).

    A name consists of lower-case letters, digits, underscores and at least one dot. Operations are not declared; the
    driver accepts or refuses them.
    """

    name: str
    operand_types: Mapping[int, ExtensionType] = MappingProxyType({})

    def check(self) -> None:
        """Raise BadDataError for an illegal name, code or size."""
        need(
            is_legal(self.name),
            f"an extension's name has lower-case letters, digits, _ and at least one dot, got {self.name!r}",
            BadDataError,
        )
        for code, type in self.operand_types.items():
            need(0 <= code <= 0xFFFF, f"operand code {code} of {self.name} is not in 0..65535", BadDataError)
            need(type.byte_size > 0, f"operand type {code} of {self.name} has {type.byte_size} bytes", BadDataError)


COMPOSITE_OPERATIONS = Extension(COMPOSITES)
"""The extension of composite operations. A driver that lists it is asked about them; the others get models in which
operations of NNAPI replace them."""


class Extensions:
    """Prefixes of extensions, and the drivers' descriptions. Thread-safe.

    :data:`COMPOSITES` has the first prefix; the others follow in the order of first use.
    """

    def __init__(self) -> None:
        self._names = [COMPOSITES]
        self._lock = make_lock()
        self._described: dict[str, tuple[str, Extension]] = {}
        self._disputed: dict[str, str] = {}
        self.discover: Callable[[], object] = lambda: None
        """Loads the drivers and their extensions; called if a type is not described yet."""

    def type(self, name: str, code: int) -> int:
        """Return ``prefix << 16 | code`` for a type (0 to 65535) of an extension.

        A name gets its prefix at first use. Raises UnexpectedNullError for None, BadDataError when all 65535 prefixes
        are in use.
        """
        need(name is not None, "the name of the extension is None", UnexpectedNullError)
        need(0 <= code <= 0xFFFF, f"code {code} within {name} is not in 0..65535", BadDataError)
        with self._lock:
            if name not in self._names:
                need(len(self._names) < MAX_PREFIX, f"no prefix is left for the extension {name}", BadDataError)
                self._names.append(name)
            return (self._names.index(name) + 1) << 16 | code

    def name(self, type: int) -> str | None:
        """Return the name of the extension of a type code; None for built-in codes and unassigned prefixes."""
        prefix = type >> 16
        return self._names[prefix - 1] if 0 < prefix <= len(self._names) else None

    def describe(self, device: str, extension: Extension) -> None:
        """Record a device's declaration of an extension. If devices declare it differently, no device can use it."""
        extension.check()
        with self._lock:
            first, known = self._described.setdefault(extension.name, (device, extension))
            if dict(known.operand_types) != dict(extension.operand_types):
                self._disputed[extension.name] = f"{first} and {device} describe it differently"

    def find(self, name: str) -> Extension | None:
        found = self._described.get(name)
        return None if found is None else found[1]

    def operand_type(self, type: int) -> ExtensionType:
        """Return the description of an operand type; raise BadDataError, with the reason, if there is none."""
        name, code = self.name(type), type & 0xFFFF
        if name is None:
            raise BadDataError(f"operand type {type} is not one of NeuralNetworks.h and no driver defines it")
        if name not in self._described:
            self.discover()
        need(name not in self._disputed, f"{name} is disabled: {self._disputed.get(name)}", BadDataError)
        described = need_value(self.find(name), f"no driver describes the extension {name}", BadDataError)
        return need_value(described.operand_types.get(code), f"{name} has no operand type {code}", BadDataError)


EXTENSIONS = Extensions()


def operation_name(code: int) -> str:
    from nnapi.operation_codes import NAMES  # on demand: cached models do not need it

    if name := NAMES.get(code):
        return name
    if extension := EXTENSIONS.name(code):
        return f"operation {code & 0xFFFF} of {extension}"
    return "OEM_OPERATION" if code == OEM_OPERATION else f"operation {code}"
