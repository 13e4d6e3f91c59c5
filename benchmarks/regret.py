"""Simulate trials: the time that their schedule loses against a process that knows the fastest plan.

    python benchmarks/regret.py [--seeds 40] [--seconds 5]

No plan runs and no clock is read. Runs have given seconds, times a noise; the tuner's work takes given seconds too.
The program prints for each case and each noise:

- after: the seconds of use, and the number of runs, from the preparation of the fastest plan to the change to it: the
  median of the simulations, and the longest
- wrong: the share of the simulations that end on a plan that is more than 5 % slower than the fastest
- cost: the time of measurements after runs, as a share of the time of runs, at most
- regret: the time of runs and measurements after runs beyond that of the fastest plan, as a share of its time: the
  median, and the highest
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nnapi.runtime.choice.challenger import time_runs
from nnapi.runtime.choice.pacing import REST
from nnapi.runtime.choice.paired_times import Contender, log_ratio
from nnapi.runtime.choice.schedule import Schedule, Stage, Turn
from nnapi.runtime.choice.tuner import DELAY, TICK

Noise = Callable[[random.Random, float, float], float]
"""The seconds of a run, by its time and its seconds without noise."""
COMPARISON = 1e-3
"""Seconds of a comparison of results."""
STEP = 5e-3
"""Seconds of the tuner's work between its rests."""
MOST_RUNS = 10_000
RIGHT = 1.05


class Case(NamedTuple):
    """Seconds of a run on the first plan and on each challenger; seconds of the preparation of each challenger."""

    name: str
    first: float
    others: tuple[float, ...]
    preparation: float = 0.2
    pause: float = 0.0
    """Seconds between runs."""
    is_crowded: bool = False
    """Whether there is one processor, which runs and the tuner's work share in halves."""

    @property
    def best(self) -> float:
        return min(self.first, *self.others)


CASES = (
    Case("absurd, seconds", 13.0, (1.35, 1.6), 2.0),
    Case("absurd, 15 times", 87e-3, (10e-3, 6e-3, 9e-3)),
    Case("slow, 2 times", 150e-3, (75e-3, 160e-3), 1.0),
    Case("slow, 1.5 times", 90e-3, (100e-3, 60e-3), 0.5),
    Case("slow, 1.5 times, 3 ms", 3e-3, (3.3e-3, 2e-3)),
    Case("slow, 1.5 times, tiny", 60e-6, (40e-6, 70e-6), 0.05),
    Case("slow, 1.5 times, with pauses", 3e-3, (3.3e-3, 2e-3), pause=30e-3),
    Case("close, 1.1 times", 2.2e-3, (2e-3, 2.4e-3)),
    Case("slow, 1.25 times, others take long", 5e-3, (4e-3, 9e-3, 8.6e-3, 8.6e-3), 0.8),
    Case("even", 5e-3, (5.05e-3, 4.98e-3)),
    Case("right", 5e-3, (8e-3, 5.6e-3, 30e-3)),
    Case("right, long", 200e-3, (330e-3, 225e-3), 1.0),
    Case("close, 1.1 times, one processor", 6.6e-3, (6.8e-3, 6e-3, 6.5e-3), is_crowded=True),
    Case("slow, 1.5 times, one processor", 9e-3, (9.5e-3, 6e-3, 8e-3), is_crowded=True),
)


def still(rng: random.Random, now: float, seconds: float) -> float:
    return seconds * math.exp(rng.gauss(0.0, 0.02))


def noisy(rng: random.Random, now: float, seconds: float) -> float:
    """Other processes use the same caches."""
    return seconds * math.exp(rng.gauss(0.0, 0.05))


def heavy(rng: random.Random, now: float, seconds: float) -> float:
    """One run of ten takes up to several times as long."""
    return still(rng, now, seconds) * (1.0 + (rng.expovariate(1.0) if rng.random() < 0.1 else 0.0))


def preempted(rng: random.Random, now: float, seconds: float) -> float:
    """Other processes take slices of 4 ms, about every 10 ms."""
    slices, left = 0, seconds
    while (left := left - rng.expovariate(1 / 10e-3)) > 0:
        slices += 1
    return still(rng, now, seconds) + 4e-3 * slices


def phased(rng: random.Random, now: float, seconds: float) -> float:
    """The processor's frequency changes every 0.3 s."""
    return still(rng, now, seconds) * (1.4 if int(now / 0.3) % 2 else 1.0)


def drifting(rng: random.Random, now: float, seconds: float) -> float:
    """The machine becomes twice as slow within 4 s, and then stays so."""
    return still(rng, now, seconds) * (1.0 + min(now / 4.0, 1.0))


NOISES: dict[str, Noise] = {
    "still": still,
    "noisy": noisy,
    "heavy tails": heavy,
    "preempted": preempted,
    "phases": phased,
    "drift": drifting,
}


def list_rows() -> Iterator[tuple[Case, str]]:
    """Yield each case with each noise. Times of runs that share one processor leave out the time of others."""
    for case in CASES:
        for noise in NOISES:
            if not (case.is_crowded and NOISES[noise] is preempted):
                yield case, noise


class Result(NamedTuple):
    after: float
    """Seconds of use between the preparation of the fastest plan and the change to it; infinite without a change."""
    runs: int
    """Number of runs in this time."""
    last: float
    """Seconds of a run on the last active plan, without noise."""
    cost: float
    regret: float


class _Watch:
    """Times runs that only move the simulation's clock."""

    def __init__(self, simulation: Simulation, contender: Contender) -> None:
        self.expected, self._simulation, self._contender = contender.seconds, simulation, contender

    def time(self, run: Callable[[], object]) -> tuple[tuple[()], float, float]:
        return (), 0.0, self._simulation.pass_run(self._simulation.seconds[self._contender.name])


class Simulation:
    """A caller that runs a model, and the tuner beside it."""

    def __init__(self, case: Case, noise: Noise, seed: int) -> None:
        self._case, self._noise, self._rng = case, noise, random.Random(seed)
        self.schedule, self.now = Schedule[Contender](is_dynamic=False, is_crowded=case.is_crowded), 0.0
        self.seconds = {str(number): seconds for number, seconds in enumerate(case.others)}
        self._unprepared = [Contender(name) for name in self.seconds]
        self._unjudged = 0
        self._active, self._is_idle, self._is_working = case.first, False, False
        self._tuner, self._clock = self._act(), 0.0
        """The tuner's work, and the time of its next step."""
        self._prepared: tuple[float, int] | None = None
        self._changed: tuple[float, int] | None = None
        self._runs, self._inline, self._used, self._excess, self._spent = 0, 0.0, 0.0, 0.0, 0.0

    def pass_run(self, seconds: float) -> float:
        taken = self._noise(self._rng, self.now, seconds)
        self.now += taken
        return taken

    def simulate(self, seconds: float) -> Result:
        """Run without a pause, or with those of the case, for ``seconds`` or longer."""
        least = 30
        while self.now < seconds or self._runs < least:
            if self._runs >= MOST_RUNS:
                break
            begin = self.now
            taken = self.pass_run(self._active)
            if self._case.is_crowded and self._is_working:
                self.now += taken
            self._used += taken
            self._runs += 1
            self._excess += self._active - self._case.best
            self._let_work(self.now)
            if self.schedule.stage is not Stage.OVER and (turn := self.schedule.note_run(begin, taken, self.now)):
                self._take(turn)
            if self._case.pause:
                end = self.now + self._case.pause
                self._let_work(end, is_idle=True)
                self.now = max(self.now, end)
        return self._conclude()

    def _let_work(self, end: float, *, is_idle: bool = False) -> None:
        """Let the tuner work until ``end``. ``is_idle``: no run takes place."""
        self._is_idle = is_idle
        while self._clock <= end and self.schedule.stage is not Stage.OVER:
            self._clock = next(self._tuner)

    def _take(self, turn: Turn[Contender]) -> None:
        begin = self.now
        self._measure(turn)
        self._inline += self.now - begin
        self.schedule.end_turn(turn, self.now)

    def _measure(self, turn: Turn[Contender]) -> None:
        contender, begin = turn.contender, self.now
        contender.seconds, _ = time_runs(_Watch(self, contender), tuple, (), turn.active)  # type: ignore[arg-type]
        if self.schedule.score(turn, self.now - begin):
            self._unjudged = self.schedule.unjudged = self._unjudged + 1

    def _act(self) -> Iterator[float]:
        """The tuner's steps: yield the time of the next one."""
        schedule = self.schedule
        while not schedule.first_run or self._clock < schedule.first_run + DELAY:
            yield self._clock + TICK
        schedule.stage, schedule.unprepared = Stage.COMPARING, len(self._unprepared)
        while True:
            if self._unprepared and not schedule.has_favorite:
                yield from self._prepare(self._unprepared.pop(0))
            elif self._is_idle and schedule.runs.is_idle(self._clock) and (found := schedule.begin_pair()):
                self._pair(found)
            if self._unjudged and (schedule.opponent is None or schedule.is_long):
                yield from self._work(COMPARISON)
                self._unjudged = schedule.unjudged = 0
            schedule.drop_behind()
            if leader := None if self._unjudged else schedule.leader:
                schedule.promote(leader)
                self._change(leader)
            if schedule.is_decided and not self._unjudged:
                if winner := schedule.winner:
                    self._change(winner)
                schedule.stage = Stage.OVER
            yield self._clock + TICK

    def _pair(self, contender: Contender) -> None:
        """Measure a pair in idle time."""
        begin, end = max(self._clock, self.now), self.schedule.runs.end
        self.now = begin
        active = min(self.pass_run(self._active) for _ in range(2))
        cost = self.now - begin
        self._measure(Turn(contender))
        self.schedule.end_pair(contender, active, cost, end)
        self._clock = self.now

    def _prepare(self, contender: Contender) -> Iterator[float]:
        schedule, seconds = self.schedule, self.seconds[contender.name]
        contender.seconds = min(self._noise(self._rng, self._clock, seconds) for _ in range(3))
        yield from self._work(self._case.preparation + 4 * seconds)
        contender.first_gain = log_ratio(schedule.runs.median, contender.seconds)
        if contender.first_gain < schedule.least_gain:
            contender.drop()
        schedule.contenders.append(contender)
        schedule.unprepared = len(self._unprepared)
        if seconds == self._case.best and self._prepared is None:
            self._prepared = self._used, self._runs

    def _work(self, seconds: float) -> Iterator[float]:
        """Let the tuner have a processor for ``seconds``, with rests."""
        schedule, runs = self.schedule, self.schedule.runs
        while seconds > 0:
            step = min(seconds, STEP) if self._case.is_crowded else seconds
            waited = step if self._case.is_crowded else 0.0
            runs.begin_work(self._clock)
            self._is_working = True
            yield self._clock + step + waited
            self._is_working = False
            runs.end_work(self._clock, waited)
            seconds -= step
            while rest := schedule.find_rest(self._clock):
                yield self._clock + min(rest, REST)

    def _change(self, contender: Contender) -> None:
        self._active = self.seconds[contender.name]
        if self._active == self._case.best and self._changed is None:
            self._changed = self._used, self._runs

    def _conclude(self) -> Result:
        after, runs = math.inf, sys.maxsize
        if self._prepared and self._changed:
            after, runs = (now - then for now, then in zip(self._changed, self._prepared, strict=True))  # type: ignore[assignment]
        best = self._case.best * self._runs
        return Result(after, runs, self._active, self._inline / self._used, (self._excess + self._inline) / best)


def simulate(case: Case, noise: Noise, seeds: int, seconds: float) -> list[Result]:
    return [Simulation(case, noise, seed).simulate(seconds) for seed in range(seeds)]


def describe(case: Case, noise: str, results: list[Result]) -> str:
    middle = len(results) // 2
    wrong = sum(each.last > RIGHT * case.best for each in results) / len(results)
    regrets = sorted(each.regret for each in results)
    after, runs = sorted(each.after for each in results), sorted(each.runs for each in results)
    change = (
        "-" if case.best == case.first or math.isinf(after[middle]) else f"{after[middle]:.2f} s, {runs[middle]} runs"
    )
    longest = (
        "-" if case.best == case.first else f"{after[-1]:.2f} s, {'-' if runs[-1] == sys.maxsize else runs[-1]} runs"
    )
    cost = max(each.cost for each in results)
    return (
        f"| {case.name} | {noise} | {change} | {longest} | {100 * wrong:.0f} % | {100 * cost:.0f} %"
        f" | {100 * regrets[middle]:.0f} % | {100 * regrets[-1]:.0f} % |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, help="number of simulations of a case with a noise")
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated seconds of runs")
    options = parser.parse_args()
    print("| case | noise | after, median | after, longest | wrong | cost | regret, median | regret, highest |")
    print("|---|---|---|---|---|---|---|---|")
    for case, noise in list_rows():
        print(describe(case, noise, simulate(case, NOISES[noise], options.seeds, options.seconds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
