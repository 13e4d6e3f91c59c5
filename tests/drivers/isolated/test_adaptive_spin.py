"""Looking goes on for as long as what is waited for takes, and is given up where it comes to nothing."""

import pytest

from nnapi.drivers.isolated.adaptive_spin import MISSES, MOST, RESTS, AdaptiveSpin

LEAST = 20_000


def looks(spin: AdaptiveSpin, waits: int, *seen: bool) -> int:
    """How many of so many waits look, where looks go as ``seen``, over and over."""
    looked = 0
    for _ in range(waits):
        if spin.budget(LEAST):
            if seen[looked % len(seen)]:
                spin.note_hit(1000)
            else:
                spin.note_miss()
            looked += 1
    return looked


def test_looks_that_see_something_go_on() -> None:
    assert looks(AdaptiveSpin(), 100, True) == 100


def test_every_third_look_is_enough() -> None:
    """So that calls of which every other one comes soon after the one before are far from the edge."""
    assert looks(AdaptiveSpin(), 100, False, False, True) == 100


def test_every_fifth_look_is_not_enough() -> None:
    assert looks(AdaptiveSpin(), 100, False, False, False, False, True) < 70


def test_looks_in_vain_become_rare() -> None:
    spin = AdaptiveSpin()
    assert looks(spin, MISSES, False) == MISSES
    assert looks(spin, RESTS[0], False) == 0
    assert looks(spin, 1, False) == 1
    assert looks(spin, 2 * RESTS[0], False) == 0
    looks(spin, 1000, False)
    assert looks(spin, 10 * (RESTS[1] + 1), False) == 10


def test_a_look_that_sees_something_ends_the_rest() -> None:
    spin = AdaptiveSpin()
    looks(spin, MISSES + RESTS[0], False)
    assert looks(spin, 100, True) == 100
    assert looks(spin, MISSES + RESTS[0], False) == MISSES, "and the next one is short again"


def test_looks_last_as_long_as_what_is_waited_for() -> None:
    spin = AdaptiveSpin()
    assert spin.budget(LEAST) == LEAST
    spin.note_sleep(40_000)
    assert spin.budget(LEAST) == 80_000, "who would have seen it looks longer the next time"
    spin.note_hit(MOST)
    assert spin.budget(LEAST) == MOST
    for _ in range(100):
        spin.note_hit(1000)
    assert spin.budget(LEAST) == LEAST


def test_what_takes_long_is_not_looked_for() -> None:
    spin = AdaptiveSpin()
    spin.note_sleep(MOST + 1)
    assert spin.budget(LEAST) == LEAST


def budgets(spin: AdaptiveSpin, count: int) -> list[int]:
    """Look in vain so many times; return how long each look is."""
    found = []
    for _ in range(count):
        found.append(spin.budget(10))
        if found[-1]:
            spin.note_miss()
    return found


def test_four_misses_rest_four_waits_and_each_trial_doubles_them() -> None:
    """Up to 64 waits."""
    spin = AdaptiveSpin()
    assert budgets(spin, 4) == [10] * 4
    for rest in (4, 8, 16, 32, 64, 64):
        assert budgets(spin, rest + 1) == [0] * rest + [10]
    assert budgets(spin, 65)[-1] == 10
    spin.note_hit(0)
    assert budgets(spin, 2) == [0, 0], "the rest that has begun goes on"


def test_a_hit_makes_up_for_two_misses() -> None:
    spin = AdaptiveSpin()
    assert budgets(spin, 3) == [10] * 3
    spin.note_hit(0)
    assert budgets(spin, 4) == [10, 10, 10, 0]
    spin = AdaptiveSpin()
    spin.note_hit(0)
    assert budgets(spin, 5) == [10, 10, 10, 10, 0], "hits are not saved"


@pytest.mark.parametrize(
    ("took", "budget"),
    [(0, 10), (5, 10), (6, 12), (99_999, 199_998), (100_001, 200_000), (200_000, 200_000), (200_001, 10)],
)
def test_a_spin_is_twice_as_long_as_a_sleep(took: int, budget: int) -> None:
    """At most 0.2 ms; longer sleeps do not count."""
    spin = AdaptiveSpin()
    spin.note_sleep(took)
    assert spin.budget(10) == budget


def test_long_waits_are_forgotten_by_an_eighth_each_time() -> None:
    spin = AdaptiveSpin()
    spin.note_sleep(8000)
    for usual in (7000, 6125, 5360):
        spin.note_hit(0)
        assert spin.budget(10) == 2 * usual
