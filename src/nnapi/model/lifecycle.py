"""The state of an API object and the error for operations that it does not permit."""

from nnapi.errors import BadStateError


class State:
    """The state of an object. ``remedies`` maps states to advice that the error message gives."""

    def __init__(self, owner: str, value: str, **remedies: str) -> None:
        self._owner, self.value, self._remedies = owner, value, remedies

    def need(self, *allowed: str, to: str = "") -> None:
        """Raise BadStateError unless the state is one of ``allowed``."""
        if self.value not in allowed:
            refused = f"cannot {to}: " if to else ""
            remedy = f": {self._remedies[self.value]}" if self.value in self._remedies else ""
            raise BadStateError(f"{refused}{self._owner} {self.value}, not {' or '.join(allowed)}{remedy}")

    def __str__(self) -> str:
        return self.value
