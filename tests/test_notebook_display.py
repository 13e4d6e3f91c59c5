"""An object without a drawing is printed; the package registers its drawings."""

import pytest

from nnapi import notebook_display
from nnapi.notebook_display import NotebookDisplay, register_drawing


def test_an_object_without_a_drawing_is_printed() -> None:
    assert NotebookDisplay()._repr_html_() is None


def test_what_is_registered_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook_display, "_draw", None)
    register_drawing(lambda shown: f"<b>{type(shown).__name__}</b>")
    assert NotebookDisplay()._repr_html_() == "<b>NotebookDisplay</b>"
