"""A sequential test of paired times: is one plan faster than another?

The statistic is the Bayes factor of a t test on the log ratios of pairs: a normal prior of the effect against no
effect. It may be tested after each pair: without an effect, it exceeds x in at most 1/x of all trials.
"""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from nnapi.printable import pluralize

PRIOR = 2.0
"""Prior standard deviation of the effect, in standard deviations of the noise."""
SURE = 10.0
"""Bayes factor at which a faster plan takes over or a slower one is dropped. A plan that is 5 % slower takes over in
less than 1 % of trials, even in noise of 20 %."""
LEAST, MOST = 4, 24
"""Pairs that a plan needs to take over, one less for long runs; pairs after which plans count as equally fast unless
one is likely faster."""
DISTURBED = 3.0
"""A measurement of short runs was disturbed if it takes this many times as long as the fastest so far."""
RESOLUTION = 0.005
"""Minimum standard deviation of a log ratio, given by the clock's resolution."""
OUTLIER, SPREADS = 0.1, 4.0
"""Log ratios are clipped at a distance from the median: the larger of this value and this many median deviations."""
LONG = 20e-3
"""Seconds of a run from which one preemption changes a ratio little, and from which pairs cost much."""
CLEAR_LONG, CLEAR_SHORT = ((1, math.log(5.0)), (2, math.log(2.0))), ((3, math.log(2.0)),)
"""Pairs that decide if all their log ratios lie beyond a value on the same side, for long and for shorter runs."""
HOPELESS = 1.0
"""A plan is dropped after two pairs if all its log ratios are below minus this value."""
REPEATS = ((1.25e-3, 8), (6e-3, 6), (LONG, 2))
"""Pairs: an upper limit of a run in seconds, and the number of runs below it. The shortest run counts, as about four
find cold caches; of longer ones the first. For the longest, more pairs of single runs tell more in the same time."""
DOUBT, FIRST = 0.3, 0.25
"""Likely error of a pair's log ratio if the machine's speed changes; the pairs that a preparation counts as."""
MARGIN, DOUBTFUL_MARGIN = 1.02, 1.03
"""Factors by which a challenger must be faster: by default; with several devices or an engine that starts slowly."""
DIFFERENCE = 2.0
"""Standard errors within which it is open which of two faster plans is the fastest. Each proves faster than the active
plan in few pairs, which may leave the difference between them to the noise."""
DRIFT = 1.5
"""A new trial begins if runs take this many times the recorded seconds or more, or the inverse or less."""


class Standing(StrEnum):
    ON_TRIAL = "on trial"
    FASTER = "faster"
    SLOWER = "slower"
    EVEN = "about as fast"


class Evidence:
    """Log ratios (active seconds / challenger seconds) of pairs; above 0, the challenger is faster."""

    def __init__(self, logs: Iterable[float] = ()) -> None:
        self.logs = list(logs)

    def add(self, active: float, challenger: float) -> None:
        self.logs.append(log_ratio(active, challenger))

    @property
    def log_gain(self) -> float:
        """Mean log ratio with outliers clipped; 0 without pairs."""
        return float(np.mean(self._clip())) if self.logs else 0.0

    @property
    def ratio(self) -> float:
        """Speed of the challenger divided by that of the active plan."""
        return math.exp(self.log_gain)

    def is_likely_faster(self, margin: float, errors: float = 1.0) -> bool:
        """Return whether the mean log ratio exceeds that of ``margin`` by more than ``errors`` standard errors."""
        if len(self.logs) < LEAST:
            return False
        gains = self._clip()
        return bool(np.mean(gains) - math.log(margin) > errors * np.std(gains, ddof=1) / math.sqrt(len(gains)))

    def may_exceed(self, other: "Evidence") -> bool:
        """Return whether this plan may be faster than ``other`` by MARGIN, where both were paired with the same plan:
        whether the difference is within DIFFERENCE standard errors of that. After MOST pairs the means decide."""
        if max(len(self.logs), len(other.logs)) >= MOST:
            return False
        error = DIFFERENCE * math.hypot(self._find_error(), other._find_error())
        return self.log_gain + error > other.log_gain + math.log(MARGIN)

    def _find_error(self) -> float:
        """Return the standard error of the mean; infinite for a single pair."""
        count = len(self.logs)
        return max(float(np.std(self._clip(), ddof=1)), RESOLUTION) / math.sqrt(count) if count > 1 else math.inf

    def judge(self, margin: float, *, is_long: bool = False) -> Standing:
        """Return the standing of a challenger that counts as faster from a factor of ``margin`` on. ``is_long``: runs
        take LONG or more."""
        count = len(self.logs)
        for pairs, clear in CLEAR_LONG if is_long else CLEAR_SHORT:
            if count >= pairs and min(self.logs) > clear:
                return Standing.FASTER
            if count >= pairs and max(self.logs) < -clear:
                return Standing.SLOWER
        if count >= 2 and max(self.logs) < -HOPELESS:
            return Standing.SLOWER
        if count < LEAST - 1:
            return Standing.ON_TRIAL
        gains = [log - math.log(margin) for log in self._clip()]
        factor = bayes_factor(gains)
        if np.mean(gains) > 0 and factor > SURE and count >= (LEAST - 1 if is_long else LEAST):
            return Standing.FASTER
        if np.mean(gains) < 0 and factor > SURE:
            return Standing.SLOWER
        if count < MOST:
            return Standing.ON_TRIAL
        return Standing.FASTER if self.is_likely_faster(margin, errors=2.5) else Standing.EVEN

    def describe(self) -> str:
        if not self.logs:
            return "no pair measured"
        won = sum(log > 0 for log in self.logs)
        return f"{won} of {pluralize(len(self.logs), 'pair')} faster, {self.ratio:.2f}×"

    def _clip(self) -> list[float]:
        middle = float(np.median(self.logs))
        most = max(OUTLIER, SPREADS * float(np.median(np.abs(np.subtract(self.logs, middle)))))
        return [min(max(log, middle - most), middle + most) for log in self.logs]


class Contender:
    """A plan that may replace the active one: the evidence for it, and its standing."""

    def __init__(self, name: str, *, is_doubtful: bool = False, logs: Sequence[float] = ()) -> None:
        self.name = name
        self.evidence = Evidence(logs)
        self.standing = Standing.ON_TRIAL
        self.reason = ""
        """Why the plan is excluded; empty if it is not."""
        self._seconds, self._fastest = 0.0, math.inf
        self.cost = 0.0
        """Seconds that the last pair took; 0 before the first pair."""
        self.first_gain = 0.0
        """Log of active seconds / own seconds, measured when the plan was prepared."""
        self._margin = DOUBTFUL_MARGIN if is_doubtful else MARGIN

    @property
    def seconds(self) -> float:
        """Seconds of a run in the last measurement."""
        return self._seconds

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._seconds = seconds
        self._fastest = min(self._fastest, seconds)

    @property
    def is_on_trial(self) -> bool:
        return self.standing is Standing.ON_TRIAL and not self.reason

    @property
    def is_faster(self) -> bool:
        return self.standing is Standing.FASTER and not self.reason

    @property
    def log_gain(self) -> float:
        """Median of the log ratios of the preparation and all pairs; a median, because one may have been disturbed."""
        logs = sorted([self.first_gain, *self.evidence.logs])  # in plain Python: the schedule asks after each run
        middle = len(logs) // 2
        return logs[middle] if len(logs) % 2 else (logs[middle - 1] + logs[middle]) / 2

    @property
    def promise(self) -> float:
        """An optimistic log ratio: the median plus a margin for doubt, which shrinks with the number of pairs."""
        return self.log_gain + DOUBT / math.sqrt(len(self.evidence.logs) or FIRST)

    @property
    def price(self) -> float:
        """Expected seconds of this plan's part of the next pair."""
        return min(self.cost or math.inf, count_runs(self.seconds) * self.seconds)

    def add_pair(self, active: float) -> None:
        """Add the pair of ``active``, the active plan's seconds, and this plan's last measurement, unless that of a
        short run was disturbed, or the plan was dropped meanwhile."""
        if not (self.is_on_trial or self.is_faster):
            return
        if active < LONG and self.seconds > DISTURBED * self._fastest:
            self._fastest *= 2  # the machine may have become slower
            return
        self.evidence.add(active, self.seconds)
        self.standing = self.evidence.judge(self._margin, is_long=active >= LONG)

    def rebase(self, gain: float) -> None:
        """Compare with a plan that is faster than the active one by the log ratio ``gain``."""
        self.first_gain -= gain
        self.evidence = Evidence(log - gain for log in self.evidence.logs)

    def reopen(self) -> None:
        """Compare again, although the plan was faster than an earlier active one."""
        self.standing = Standing.ON_TRIAL

    def decide(self) -> None:
        """End the trial of this plan for lack of time: it counts as faster if that is likely."""
        if self.is_on_trial and self.evidence.is_likely_faster(self._margin):
            self.standing = Standing.FASTER

    def drop(self) -> None:
        self.standing = Standing.SLOWER


def count_runs(seconds: float) -> int:
    return next((count for limit, count in REPEATS if seconds < limit), 1)


def log_ratio(active: float, challenger: float) -> float:
    return math.log(max(active, 1e-9) / max(challenger, 1e-9))


def bayes_factor(values: list[float]) -> float:
    """Return the Bayes factor of a nonzero mean against a mean of 0; needs at least two values."""
    count, mean = len(values), float(np.mean(values))
    deviation = max(float(np.std(values, ddof=1)), RESOLUTION)
    freedom, spread = count - 1, 1 + count * PRIOR**2
    square = count * (mean / deviation) ** 2 / freedom
    return float(spread**-0.5 * ((1 + square) / (1 + square / spread)) ** (count / 2))


def has_drifted(seconds: float, recorded: float) -> bool:
    return not 1 / DRIFT < seconds / recorded < DRIFT
