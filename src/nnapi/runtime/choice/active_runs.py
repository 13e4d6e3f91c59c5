"""The recent runs of the active plan: their seconds, and the gaps between them."""

import math
from collections import deque

from nnapi.runtime.choice.paired_times import DISTURBED

RECENT = 8
"""Number of latest runs whose seconds are kept."""
GAP, LEAST_GAP, PAUSE = 2.0, 5e-3, 0.25
"""The tuner measures in gaps between runs that last at least this many runs and seconds. If the last runs had no gap,
it waits the third number of seconds, as the next run may just be late."""
BESIDE = 0.05
"""A run counts if the tuner's work beside it took less than this share of it."""
FORGETTING = 1.01
"""Factor by which each run forgets the fastest one, as the machine may become slower."""


class ActiveRuns:
    """Runs that began beside the tuner's work do not count, as they take longer."""

    def __init__(self, *, is_dynamic: bool) -> None:
        """``is_dynamic``: the seconds of one run say nothing about the next, whose inputs may have other shapes."""
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.spent = self.end = 0.0
        """Seconds spent in all runs; the time at which the last run or measurement ended."""
        self.is_dynamic = is_dynamic
        self._gap = self._gap_before = self._median = 0.0
        self.fastest = math.inf
        """Seconds of the shortest run, which grow slowly with each run."""
        self._skips = 0
        """Number of next runs to ignore, because a measurement has cooled the caches."""
        self._worked = 0.0
        """Time at which the tuner's last preparation or comparison ended; infinite during one."""
        self._between = 0.0
        """Seconds between runs, in which the processors are free."""
        self._began = self._work = self._waited = self._noted = 0.0
        """The time at which the tuner's last work began; seconds of all work before that, those of it without a
        processor, and those before the last run ended."""

    def arrive(self, begin: float, seconds: float, now: float, skipped: int = 0) -> bool:
        """Note a run that ends ``now``, after ``skipped`` others of about the same length. Returns whether much of it
        was beside the tuner's work."""
        gap = begin - self.end - skipped * seconds if self.end else 0.0
        self._gap, self._gap_before = min(gap, self._gap_before), gap  # a single run may have waited for the tuner
        self.end = now
        self._between += max(gap, 0.0)
        self.spent += (1 + skipped) * seconds
        self.fastest = min(seconds, FORGETTING * self.fastest)
        work = self._work + (max(now - self._began, 0.0) if self._worked == math.inf else 0.0)
        recent, self._noted = work - self._noted, work
        return begin < self._worked and recent > BESIDE * seconds

    def remember(self, seconds: float, *, is_beside: bool) -> bool:
        """Remember the seconds of a run if it counts. Returns False if it follows a measurement."""
        if self._skips:
            self._skips -= 1
            return False
        if self.is_dynamic or is_beside:
            self._clear()
        if not is_beside:
            self.recent.append(seconds)
        return True

    def forget(self) -> None:
        """Forget all seconds, and ignore the next run: a measurement has cooled the caches."""
        self._clear()
        self._skips = 1

    def _clear(self) -> None:
        self._median = self.median
        self.recent.clear()

    def change(self, seconds: float) -> None:
        """Begin with another plan, whose runs take about ``seconds``."""
        self.forget()
        self._median = self.fastest = seconds
        self.begin_budget()

    def begin_budget(self) -> None:
        """Count the time spent in runs, and the tuner's work, from now on."""
        self.spent = self._between = self._work = self._waited = self._noted = 0.0

    @property
    def median(self) -> float:
        """Median seconds of the latest runs; 0 before the first run."""
        recent = sorted(self.recent)
        return recent[len(recent) // 2] if recent else self._median

    def find_shortest(self, count: int) -> float | None:
        """Return the seconds of the shortest of the latest ``count`` runs; None if there are fewer, or if all were
        disturbed, as by other processes."""
        if len(self.recent) < count:
            return None
        shortest = min(list(self.recent)[-count:])
        return None if count > 1 and shortest > DISTURBED * self.fastest else shortest

    @property
    def have_gaps(self) -> bool:
        return self._gap > max(LEAST_GAP, GAP * self.median)

    def is_idle(self, now: float) -> bool:
        """Return whether no run has come for so long that the tuner may measure a pair."""
        least = max(LEAST_GAP if self.have_gaps else PAUSE, GAP * self.median)
        return now - self.end > least

    def begin_work(self, now: float) -> None:
        """Mark the begin of the tuner's work."""
        self._began, self._worked = now, math.inf

    def find_debt(self, share: float) -> float:
        """Return the seconds by which the tuner had a processor, up to its last pause, beyond the time between runs and
        this share of the time in them."""
        return self._work - self._waited - self._between - share * self.spent

    def end_work(self, now: float, waited: float = 0.0) -> None:
        """Mark the end of the tuner's work, in which it waited for a processor for so many seconds."""
        self._work += now - self._began
        self._waited += waited
        self._worked = now
