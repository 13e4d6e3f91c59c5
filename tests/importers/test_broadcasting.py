"""Shapes that broadcast to each other, also with dynamic dimensions."""

from typing import Any

import pytest

from nnapi.importers.broadcasting import broadcast_shape
from nnapi.importers.refusals import Refused


@pytest.mark.parametrize(
    ("shapes", "wide"),
    [
        ([(2, 3)], (2, 3)),
        ([(2, 3), (3,)], (2, 3)),
        ([(4, 1, 3), (2, 1), ()], (4, 2, 3)),
        ([(1, 1), (1,)], (1, 1)),
        ([(0, 3), (1, 1)], (0, 3)),
        ([(0, 3), (5, 1)], (5, 3)),
        ([(0, 1), (0, 0)], (0, 0)),
        ([(), ()], ()),
    ],
)
def test_shapes_stretch_to_each_other(shapes: Any, wide: Any) -> None:
    """0 is a dynamic dimension, which may turn out to be any."""
    assert broadcast_shape(shapes) == wide


@pytest.mark.parametrize("shapes", [[(2, 3), (2,)], [(2,), (3,)], [(0, 2), (4, 1), (5, 1)]])
def test_other_shapes_are_refused(shapes: Any) -> None:
    with pytest.raises(Refused, match="do not stretch to each other"):
        broadcast_shape(shapes)
