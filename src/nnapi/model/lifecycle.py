"""Which of its states an object of the API is in: what is not permitted there is refused in one way."""

from __future__ import annotations

from nnapi.errors import BadStateError


class State:
    """``value`` is the state; ``owner`` begins the message that says so."""

    def __init__(self, owner: str, value: str) -> None:
        self._owner, self.value = owner, value

    def need(self, *allowed: str, to: str = "") -> None:
        """Raise BadStateError, with what was to be done, unless this is one of the states in which it may be."""
        if self.value not in allowed:
            refused = f"cannot {to}: " if to else ""
            raise BadStateError(f"{refused}{self._owner} {self.value}, not {' or '.join(allowed)}")

    def __str__(self) -> str:
        return self.value
