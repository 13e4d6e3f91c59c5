"""What has no drawing is printed."""

from nnapi.notebook_display import NotebookDisplay


def test_an_object_without_a_drawing_is_printed() -> None:
    assert NotebookDisplay()._repr_html_() is None
