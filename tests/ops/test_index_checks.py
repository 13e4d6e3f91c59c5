"""The error of an index out of range."""

import copy

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.ops.index_checks import BadIndexError, check_range


@pytest.mark.parametrize("indices", [[0], [0, 4], [2, 4, 0], []])
def test_indices_in_range_pass(indices: list[int]) -> None:
    check_range("indices", np.array(indices, np.int32), 5)


@pytest.mark.parametrize(("indices", "found"), [([5], "5..5"), ([3, -1], "-1..3"), ([7, 6], "6..7")])
def test_the_message_names_parameter_indices_and_range(indices: list[int], found: str) -> None:
    with pytest.raises(OpFailedError) as caught:
        check_range("lookups", np.array(indices, np.int32), 5)
    assert str(caught.value) == f"lookups are in {found}, must be in 0..4"


def test_the_operand_and_the_location_are_added() -> None:
    error = BadIndexError("indices", 3, 9, 4, least=-4).of("rows").at("GATHER (#2)")
    assert str(error) == "GATHER (#2): indices rows are in 3..9, must be in -4..3"
    assert str(copy.copy(error)) == str(error)
