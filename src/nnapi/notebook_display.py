"""Objects that notebooks draw. The drawing function lies in a higher layer, so the package registers it here."""

from collections.abc import Callable


def _draw_nothing(shown: object) -> str | None:
    return None


_draw: Callable[[object], str | None] = _draw_nothing


def register_drawing(draw: Callable[[object], str | None]) -> None:
    """Draw objects by ``draw``, which returns HTML, or None to print the object instead."""
    global _draw
    _draw = draw


class NotebookDisplay:
    """An object that Jupyter draws instead of printing it."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return the object as HTML; None if notebooks should print it."""
        return _draw(self)
