"""The steps of a plan: results that belong to the caller."""

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.runtime.executors import steps


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("array", "is_copied"),
    [
        (np.array([1, 2]), False),
        (read_only(np.array([1, 2])), True),  # a constant
        (np.array([0, 1, 2])[1:], True),  # a view of memory that is used again
        (read_only(np.array([0, 1, 2])[1:]), True),
    ],
)
def test_a_result_of_a_loop_is_an_array_of_its_own(array: np.ndarray, is_copied: bool) -> None:
    result = steps._need_own(array)
    assert result.tolist() == [1, 2]
    assert result.flags.owndata
    assert result.flags.writeable
    assert (result is not array) == is_copied


def test_an_omitted_operand_cannot_be_a_result() -> None:
    with pytest.raises(OpFailedError, match="an omitted operand became an output"):
        steps._need_own(None)
