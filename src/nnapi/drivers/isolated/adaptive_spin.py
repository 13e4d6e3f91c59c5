"""Whether to look at shared memory for a while before sleeping: only where that has been worth it lately.

Looking is the shortest way to see what another processor writes. Where the other side has no processor to write with,
as on a busy machine, it takes one away, and where the answer takes long it is in vain.
"""

from __future__ import annotations

MISSES = 4
"""Looks in vain, less what those that were not make up for, after which there is a rest."""
WORTH = 2
"""Looks in vain that one makes up for which was not: sleep and waking take as long as two of them on a quiet machine,
and longer than that where a processor that has nothing to do is switched off."""
REST = 32
"""Waits that sleep at once until the next trial."""


class AdaptiveSpin:
    """What has come of one kind of wait."""

    def __init__(self) -> None:
        self._misses = self._rest = 0

    def is_due(self) -> bool:
        """Whether this wait should look."""
        if self._rest:
            self._rest -= 1
            return False
        return True

    def note(self, seen: bool) -> None:
        """Whether a look saw what it waited for."""
        if seen:
            self._misses = max(0, self._misses - WORTH)
            return
        self._misses += 1
        if self._misses >= MISSES:
            self._misses, self._rest = MISSES - 1, REST
