"""Extensions: operand and operation types of vendors, told apart by a number that each extension's name is given."""

from __future__ import annotations

import re
import threading

from nnapi.errors import BadDataError, UnexpectedNullError, need

MAX_PREFIX = 0xFFFF
LEGAL_NAME = re.compile(r"[a-z0-9_.]*\.[a-z0-9_.]*")


class Extensions:
    """The prefixes handed out so far, from 1 on in the order in which names are first used. Safe to share."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._lock = threading.Lock()

    def type(self, name: str, code: int) -> int:
        """``prefix << 16 | code``: the number of a type (0 to 65535) within the extension of that name.

        Any name is given a prefix, always the same. Raises UnexpectedNullError for None, BadDataError when all 65535
        prefixes are in use.
        """
        need(name is not None, "the name of the extension is None", UnexpectedNullError)
        need(0 <= code <= 0xFFFF, f"code {code} within {name} is not in 0..65535", BadDataError)
        with self._lock:
            if name not in self._names:
                need(len(self._names) < MAX_PREFIX, f"no prefix is left for the extension {name}", BadDataError)
                self._names.append(name)
            return (self._names.index(name) + 1) << 16 | code

    def name(self, type: int) -> str | None:
        """The extension that a type number belongs to; None for built-in numbers and prefixes not handed out."""
        prefix = type >> 16
        return self._names[prefix - 1] if 0 < prefix <= len(self._names) else None


EXTENSIONS = Extensions()
"""Those of this process."""
