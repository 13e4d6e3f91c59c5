"""Captions; boxes, points and masks are tested with their families."""

from PIL import Image

from nnapi.vision.drawing import draw_caption


def test_a_caption_is_below_the_picture() -> None:
    picture = Image.new("RGB", (200, 100), "red")
    drawn = draw_caption(picture, ["bird (55 %)", "cat (40 %)"])
    assert drawn.width == 200
    assert drawn.height > 120
    assert drawn.crop((0, 0, 200, 100)).getcolors() == [(20000, (255, 0, 0))]
    below = drawn.crop((0, 100, 200, drawn.height))
    assert len(below.getcolors(100000)) > 1
