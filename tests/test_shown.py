"""What has no drawing is printed."""

from nnapi.shown import Shown


def test_an_object_without_a_drawing_is_printed() -> None:
    assert Shown()._repr_html_() is None
