"""The processor in the keys of records."""

import os

from nnapi.runtime.choice.question import name_processor


def test_it_says_how_many_cores_may_be_used() -> None:
    name, _, count = name_processor().rpartition(" × ")
    assert name
    assert int(count) == len(os.sched_getaffinity(0))
