"""The loop over time and the linking of an auxiliary input."""

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.ops.sequence import linked, over_time


def running_sum(x, aux, h):
    return (h + x + (0 if aux is None else aux),)


@pytest.mark.parametrize(
    ("aux", "backward", "outputs", "last"),
    [
        (None, False, [11, 13, 16], 16),
        (None, True, [16, 15, 13], 16),
        (np.float32([10, 20, 30]), False, [21, 43, 76], 76),
    ],
)
def test_over_time(aux, backward, outputs, last):
    found, states = over_time(running_sum, np.float32([1, 2, 3]), aux, (np.float32(10),), backward)
    np.testing.assert_array_equal(found, outputs)
    assert states == (last,)


def test_linking():
    assert linked("input", None, False, False) == ("input", None)
    assert linked("input", "aux", True, True) == ("input", "aux")
    assert linked("input", "aux", False, False) == ("aux", None)


@pytest.mark.parametrize(
    ("aux", "fw", "bw", "sentence"),
    [
        ("aux", True, False, "forwards only"),
        ("aux", False, True, "backwards only"),
        (None, True, True, "without aux_input"),
    ],
)
def test_linking_refusals(aux, fw, bw, sentence):
    with pytest.raises(OpFailedError, match=sentence):
        linked("input", aux, fw, bw)
