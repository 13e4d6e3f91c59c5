"""When runs are reported to an observer, so that reports take little of the time of runs from the first one on."""

SHARE = 0.05
"""Reports take at most this share of the time of runs."""
SHORT, EARLY = 1e-3, 5e-3
"""If the first run is shorter than this, reports begin so many seconds later: the first one copies inputs and starts a
thread, which takes as long as many such runs."""
LONGEST = 2e-3
"""Maximum seconds without a report: a report may have been interrupted, and gaps between runs must be noticed."""


def find_report_after_first(begin: float, seconds: float) -> float:
    """Return the time of the first report, after the program's first run; 0 if the run itself is reported."""
    return begin + EARLY if seconds < SHORT else 0.0


def find_next_report(begin: float, end: float) -> float:
    """Return the time of the next report, after one from ``begin`` to ``end``."""
    return end + min((end - begin) / SHARE, LONGEST)
