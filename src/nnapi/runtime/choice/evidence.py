"""A sequential test of paired times: is one plan faster than another?

The statistic is the Bayes factor of a t test on the log ratios of pairs measured one after the other: an effect with a
normal prior against none. It may be tested after each pair: without an effect it ever exceeds x with a probability of
at most 1/x.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

import numpy as np

PRIOR = 2.0
"""Standard deviation of the effect, in standard deviations of the noise."""
SURE = 10.0
"""Bayes factor for a faster plan to take over, and for a slower one to be dropped. A plan that is 5 % slower
takes over in less than 1 % of the trials, even in noise of 20 %."""
LEAST, MOST = 4, 24
"""Pairs before a plan may take over; pairs after which plans count as equally fast, unless one is likely faster."""
RESOLUTION = 0.005
"""Least standard deviation of a log ratio, by the resolution of the clock."""
OUTLIER, SPREADS = 0.1, 4.0
"""Distance from the median at which a log ratio is clipped, absolute and in median distances; the larger counts."""
HOPELESS = 1.0
"""Log ratio below which a plan is dropped after two pairs."""
DRIFT = 1.5
"""Ratio to the recorded seconds, or its inverse, that begins new trials."""


class Standing(StrEnum):
    ON_TRIAL = "on trial"
    FASTER = "faster"
    SLOWER = "slower"
    EVEN = "about as fast"


class Evidence:
    """The log ratios of active to challenger seconds. Above 0: the challenger is faster."""

    def __init__(self, logs: Iterable[float] = ()) -> None:
        self.logs = list(logs)

    def add(self, active: float, challenger: float) -> None:
        self.logs.append(log_ratio(active, challenger))

    @property
    def log_gain(self) -> float:
        """Mean log ratio without outliers; 0 without pairs."""
        return float(np.mean(self._clip())) if self.logs else 0.0

    @property
    def ratio(self) -> float:
        """Speed relative to the active plan."""
        return math.exp(self.log_gain)

    def is_likely_faster(self, margin: float, errors: float = 1.0) -> bool:
        """Return whether the mean is above ``margin`` by more than so many standard ``errors``."""
        if len(self.logs) < LEAST:
            return False
        gains = self._clip()
        return bool(np.mean(gains) - math.log(margin) > errors * np.std(gains, ddof=1) / math.sqrt(len(gains)))

    def judge(self, margin: float) -> Standing:
        """Return the standing of a challenger that must be faster by a factor of ``margin``."""
        count = len(self.logs)
        if count >= 2 and max(self.logs) < -HOPELESS:
            return Standing.SLOWER
        if count < LEAST - 1:
            return Standing.ON_TRIAL
        gains = [log - math.log(margin) for log in self._clip()]
        factor = bayes_factor(gains)
        if np.mean(gains) > 0 and factor > SURE and count >= LEAST:
            return Standing.FASTER
        if np.mean(gains) < 0 and factor > SURE:
            return Standing.SLOWER
        if count < MOST:
            return Standing.ON_TRIAL
        return Standing.FASTER if self.is_likely_faster(margin, errors=2.5) else Standing.EVEN

    def describe(self) -> str:
        won = sum(log > 0 for log in self.logs)
        return f"{won} of {len(self.logs)} pairs faster, {self.ratio:.2f}×"

    def _clip(self) -> list[float]:
        middle = float(np.median(self.logs))
        most = max(OUTLIER, SPREADS * float(np.median(np.abs(np.subtract(self.logs, middle)))))
        return [min(max(log, middle - most), middle + most) for log in self.logs]


def log_ratio(active: float, challenger: float) -> float:
    return math.log(max(active, 1e-9) / max(challenger, 1e-9))


def bayes_factor(values: list[float]) -> float:
    """Return the Bayes factor of a mean other than 0 against a mean of 0; at least two values."""
    count, mean = len(values), float(np.mean(values))
    deviation = max(float(np.std(values, ddof=1)), RESOLUTION)
    freedom, spread = count - 1, 1 + count * PRIOR**2
    square = count * (mean / deviation) ** 2 / freedom
    return float(spread**-0.5 * ((1 + square) / (1 + square / spread)) ** (count / 2))


def has_drifted(seconds: float, recorded: float) -> bool:
    return not 1 / DRIFT < seconds / recorded < DRIFT
