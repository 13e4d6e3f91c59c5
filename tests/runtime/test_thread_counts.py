"""Numbers of threads: from 1 to as many as engines survive."""

from typing import Any

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.runtime.thread_counts import MOST_THREADS, read_count, read_threads


@pytest.mark.parametrize("right", [1, MOST_THREADS, np.int64(2)])
def test_permitted_numbers(right: Any) -> None:
    assert read_threads(right) == right
    assert type(read_count(right, "requests")) is int


@pytest.mark.parametrize("wrong", [-1, 0, MOST_THREADS + 1, 2.5, "2", [2]])
def test_others_are_named(wrong: Any) -> None:
    with pytest.raises(BadDataError) as refused:
        read_count(wrong, "requests")
    kind = "" if isinstance(wrong, int) else "an integer "
    assert str(refused.value) == f"requests is {wrong!r}, must be {kind}from 1 to 1024"


def test_no_number_leaves_the_choice_to_the_runtime() -> None:
    assert read_threads(None) is None
