"""Spinning on shared memory before sleeping, as long as recent waits show a gain. A spin may occupy the processor that
the other side needs. No fixed time suffices on machines that wake slowly."""

MISSES = 4
"""Failed spins, less those that hits make up for, after which some waits sleep at once."""
WORTH = 2
"""Failed spins that one hit makes up for: sleeping and waking take as long as two spins on a quiet machine."""
RESTS = 4, 64
"""Number of waits that then sleep at once: the first and the maximum. Each failed spin afterwards doubles it."""
MOST = 200_000
"""Maximum nanoseconds of a spin."""


class AdaptiveSpin:
    """The history of one kind of wait; all times are in nanoseconds."""

    def __init__(self) -> None:
        self._misses = self._rest = self._usual = 0
        self._next_rest = RESTS[0]

    def budget(self, least: int) -> int:
        """Return how long to spin now: twice the usual wait, but at least ``least``; 0 to sleep at once."""
        if self._rest:
            self._rest -= 1
            return 0
        return min(max(least, 2 * self._usual), MOST)

    def note_hit(self, took: int) -> None:
        self._misses, self._next_rest = max(0, self._misses - WORTH), RESTS[0]
        self._note(took)

    def note_miss(self) -> None:
        self._misses += 1
        if self._misses >= MISSES:
            self._misses, self._rest = MISSES - 1, self._next_rest
            self._next_rest = min(2 * self._next_rest, RESTS[1])

    def note_sleep(self, took: int) -> None:
        self._note(took if took <= MOST else 0)

    def _note(self, took: int) -> None:
        self._usual = max(took, self._usual - self._usual // 8)
