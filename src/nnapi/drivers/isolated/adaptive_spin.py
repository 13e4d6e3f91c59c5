"""Spinning on shared memory before sleeping, for as long as the last waits make it worth.

Looking is the shortest way to see what another processor writes. Where the other side has no processor to write with,
as on a busy machine, it takes one away, and where the answer takes long it is in vain. Where waking up takes long, as
on a virtual machine, both sides would sleep again and again if they looked for a fixed time only.
"""

from __future__ import annotations

MISSES = 4
"""Looks in vain, less what those that were not make up for, after which there is a rest."""
WORTH = 2
"""Looks in vain that one makes up for which was not: sleep and waking take as long as two of them on a quiet machine,
and longer than that where a processor that has nothing to do is switched off."""
RESTS = 4, 64
"""Waits that sleep at once until the next trial: at first, and at most. Each trial in vain doubles them."""
MOST = 200_000
"""Nanoseconds that a look takes at most: what is waited for longer is worth a sleep."""


class AdaptiveSpin:
    """The history of one kind of wait. All times are nanoseconds."""

    def __init__(self) -> None:
        self._misses = self._rest = self._usual = 0
        self._next_rest = RESTS[0]

    def budget(self, least: int) -> int:
        """Return how long to look now: twice the time of recent waits, at least ``least``; 0 to sleep at once."""
        if self._rest:
            self._rest -= 1
            return 0
        return min(max(least, 2 * self._usual), MOST)

    def note_hit(self, took: int) -> None:
        """Note a look that saw the change."""
        self._misses, self._next_rest = max(0, self._misses - WORTH), RESTS[0]
        self._note(took)

    def note_miss(self) -> None:
        """Note a look in vain."""
        self._misses += 1
        if self._misses >= MISSES:
            self._misses, self._rest = MISSES - 1, self._next_rest
            self._next_rest = min(2 * self._next_rest, RESTS[1])

    def note_sleep(self, took: int) -> None:
        """Note how long a wait took that slept."""
        self._note(took if took <= MOST else 0)

    def _note(self, took: int) -> None:
        """Count a long wait at once, and forget it slowly."""
        self._usual = max(took, self._usual - self._usual // 8)
