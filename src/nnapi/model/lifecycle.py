"""The state of an API object and the error for operations that it does not permit."""

from nnapi.errors import BadStateError


class State:
    def __init__(self, owner: str, value: str) -> None:
        self._owner, self.value = owner, value

    def need(self, *allowed: str, to: str = "") -> None:
        """Raise BadStateError unless the state is one of ``allowed``."""
        if self.value not in allowed:
            refused = f"cannot {to}: " if to else ""
            raise BadStateError(f"{refused}{self._owner} {self.value}, not {' or '.join(allowed)}")

    def __str__(self) -> str:
        return self.value
