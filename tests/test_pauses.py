"""Pauses of background work."""

import threading

from nnapi.pauses import pause, resting_by


def test_only_work_that_should_rest_has_pauses() -> None:
    rests: list[int] = []

    def rest() -> None:
        rests.append(threading.get_ident())

    pause()
    with resting_by(rest):
        pause()
        other = threading.Thread(target=pause)
        other.start()
        other.join()
        with resting_by(None):
            pause()
        pause()
    pause()
    assert rests == 2 * [threading.get_ident()]
