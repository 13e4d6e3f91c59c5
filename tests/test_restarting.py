"""Runs after a reset use the fast compilation; the second run repeats the first with the slow one."""

from typing import Any

import numpy as np
import pytest

from nnapi.restarting import Restarting, copy_to


class Sum:
    """Two compilations that add their input to the state, and a record of their runs."""

    def __init__(self) -> None:
        self.x, self.state, self.log = np.zeros(2), np.full(2, 99.0), list[str]()
        self.made = 0
        self.runs = Restarting[list[float]]()
        self.bind()

    def bind(self) -> None:
        self.runs.bind([self.x], self.begin, self.continue_)

    def begin(self) -> list[float]:
        self.log.append("fast")
        return list(self.x)

    def continue_(self) -> Any:
        self.made += 1
        return self

    def reset(self) -> None:
        self.log.append("reset")
        self.state[:] = 0

    def run(self) -> list[float]:
        self.log.append("slow")
        self.state += self.x
        return list(self.state)

    def feed(self, value: float, **more: bool) -> list[float]:
        self.x[:] = value
        return self.runs.run(**{"is_reset": False} | more)


@pytest.fixture
def total() -> Sum:
    return Sum()


def test_a_run_after_a_reset_is_fast(total: Sum) -> None:
    assert [total.feed(value, is_reset=True) for value in (1, 2)] == [[1, 1], [2, 2]]
    assert (total.log, total.made) == (["fast", "fast"], 0)


def test_the_next_run_repeats_it_and_the_later_ones_go_on(total: Sum) -> None:
    total.feed(1, is_reset=True)
    assert [total.feed(value) for value in (2, 3)] == [[3, 3], [6, 6]]
    assert (total.log, total.made) == (["fast", "reset", "slow", "slow", "slow"], 1)
    assert list(total.x) == [3, 3]


def test_a_second_reset_begins_anew_with_the_same_compilation(total: Sum) -> None:
    for value, is_reset in ((1, True), (2, False), (5, True)):
        total.feed(value, is_reset=is_reset)
    assert total.feed(1) == [6, 6]
    assert total.made == 1


def test_states_that_the_program_has_written_are_used_as_they_are(total: Sum) -> None:
    total.feed(1, is_reset=True)
    total.state[:] = 40
    assert total.feed(2, is_untouched=False) == [42, 42]
    assert total.feed(3) == [45, 45], "the run after the reset is not repeated later"


def test_the_inputs_may_move_between_the_first_and_the_second_run(total: Sum) -> None:
    total.feed(1, is_reset=True)
    total.x = np.zeros(2)
    total.bind()
    assert total.feed(2) == [3, 3]


def test_arrays_are_copied_in_pairs() -> None:
    targets = [np.zeros(2), np.zeros((1, 3))]
    copy_to(targets, [np.ones(2), np.full((1, 3), 2.0)])
    assert [target.tolist() for target in targets] == [[1, 1], [[2, 2, 2]]]
    with pytest.raises(ValueError, match="shorter"):
        copy_to(targets, [np.ones(2)])
