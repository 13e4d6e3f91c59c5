"""The refusal of a call by a lowering, with the reason."""


class Unsupported(Exception):
    """Raised when the engine cannot compute a call; the message is the reason."""


def require(condition: object, reason: str) -> None:
    """Raise Unsupported with ``reason`` unless the condition holds."""
    if not condition:
        raise Unsupported(reason)
