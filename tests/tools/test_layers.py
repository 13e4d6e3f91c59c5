"""The picture of the layers is the one that the layout enforces."""

from xml.etree import ElementTree

from tests.test_layout import ROWS
from tools import size
from tools.layers import draw


def test_the_committed_picture_is_current() -> None:
    picture = (size.REPOSITORY / "docs" / "layers.svg").read_text()
    assert picture == draw(ROWS), "python -m tools.layers > docs/layers.svg"


def test_higher_layers_are_drawn_higher() -> None:
    texts = ElementTree.fromstring(draw([{"low"}, {"middle", "beside"}, {"high"}]))
    heights = {each.text: float(each.get("y")) for each in texts.iter("{http://www.w3.org/2000/svg}text")}
    assert heights["high"] < heights["middle"] == heights["beside"] < heights["low"]
