"""Captions; boxes, points and masks are tested with their families."""

from PIL import Image

from nnapi.vision.drawing import color_of, draw_caption, draw_legend


def test_a_caption_is_below_the_picture() -> None:
    picture = Image.new("RGB", (200, 100), "red")
    drawn = draw_caption(picture, ["bird (55 %)", "cat (40 %)"])
    assert drawn.width == 200
    assert drawn.height > 120
    assert drawn.crop((0, 0, 200, 100)).getcolors() == [(20000, (255, 0, 0))]
    below = drawn.crop((0, 100, 200, drawn.height))
    assert len(below.getcolors(100000)) > 1


def test_a_legend_has_the_color_of_each_number() -> None:
    picture = Image.new("RGB", (200, 100), "red")
    drawn = draw_legend(picture, [(7, "cat 40 %"), (3, "bird 2 %")])
    assert drawn.crop((0, 0, 200, 100)).getcolors() == [(20000, (255, 0, 0))]
    colors = {color for _, color in drawn.crop((0, 100, *drawn.size)).getcolors(100000)}
    assert {color_of(7), color_of(3)} <= colors
    assert color_of(1) not in colors


def test_a_legend_has_as_many_lines_as_it_needs() -> None:
    picture = Image.new("RGB", (200, 100))
    one, many = (draw_legend(picture, [(number, "a name 10 %") for number in range(count)]) for count in (1, 9))
    assert one.width == many.width == 200
    line = one.height - 100
    assert many.height - 100 > 3 * line
    found = {color for _, color in many.crop((0, 100, *many.size)).getcolors(100000)}
    assert {color_of(number) for number in range(9)} <= found


def test_a_legend_of_a_tiny_picture_is_not_cut_off() -> None:
    drawn = draw_legend(Image.new("RGB", (8, 8)), [(1, "a long name 100 %")])
    assert drawn.width > 80
    right = drawn.crop((drawn.width - 4, 8, *drawn.size))
    assert right.getcolors() == [(right.width * right.height, (255, 255, 255))]


def test_no_legend_without_entries() -> None:
    picture = Image.new("RGB", (8, 8))
    assert draw_legend(picture, []) is picture
