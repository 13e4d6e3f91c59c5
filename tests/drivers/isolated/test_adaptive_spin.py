"""Looking at shared memory is given up where it comes to nothing, and tried again later."""

from nnapi.drivers.isolated.adaptive_spin import MISSES, REST, AdaptiveSpin


def looks(spin: AdaptiveSpin, waits: int, *seen: bool) -> int:
    """How many of so many waits look, where looks go as ``seen``, over and over."""
    looked = 0
    for _ in range(waits):
        if spin.is_due():
            spin.note(seen[looked % len(seen)])
            looked += 1
    return looked


def test_looks_that_see_something_go_on() -> None:
    assert looks(AdaptiveSpin(), 100, True) == 100


def test_every_third_look_is_enough() -> None:
    """So that calls of which every other one comes soon after the one before are far from the edge."""
    assert looks(AdaptiveSpin(), 100, False, False, True) == 100


def test_every_fifth_look_is_not_enough() -> None:
    assert looks(AdaptiveSpin(), 100, False, False, False, False, True) < 50


def test_looks_in_vain_become_rare() -> None:
    spin = AdaptiveSpin()
    assert looks(spin, MISSES, False) == MISSES
    assert looks(spin, REST, False) == 0
    assert looks(spin, 10 * (REST + 1), False) == 10


def test_a_look_that_sees_something_ends_the_rest() -> None:
    spin = AdaptiveSpin()
    looks(spin, MISSES + REST, False)
    assert looks(spin, 100, True) == 100
