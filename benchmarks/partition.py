"""Compare the partitioner with brute force on random graphs of up to 12 operations, and time it on large graphs.

The costs, edges and refusals of the graphs are random. With two devices the plan must be the cheapest of all
assignments. With three it must never be worse than the best single device, and the mean ratio of its cost to the
cheapest one must be below 1.05.
"""

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nnapi.runtime.executors.stopwatch import time_call
from nnapi.runtime.planning.partition import partition
from tests.runtime.partition_cases import best_single, cheapest, random_problem

LARGEST = 12
TOLERANCE = 1e-6
MEAN_RATIO = 1.05


def against_brute_force(graphs: int, devices: int, seed: int) -> dict[str, Any]:
    """Return the ratios of the plan's cost to the cheapest one, and of the best single device's cost to the plan's."""
    rng = random.Random(seed)
    ratios, gains, worse = [], [], 0
    for _ in range(graphs):
        problem = random_problem(rng, rng.randrange(1, LARGEST + 1), devices)
        assignment = partition(problem)
        assert assignment is not None
        cost, single = problem.cost(assignment), best_single(problem)
        ratios.append(cost / cheapest(problem))
        gains.append(single / cost)
        worse += cost > single * (1 + TOLERANCE)
    return {
        "devices": devices,
        "graphs": graphs,
        "optimal": sum(ratio < 1 + TOLERANCE for ratio in ratios),
        "mean_ratio": statistics.mean(ratios),
        "worst_ratio": max(ratios),
        "worse_than_one_device": worse,
        "mean_gain": statistics.mean(gains),
    }


def seconds(operations: int, devices: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of one partition: minimum, median and maximum over several graphs."""
    times = []
    for seed in range(rounds):
        problem = random_problem(random.Random(seed), operations, devices)
        times.append(time_call(partial(partition, problem)))
    return {
        "operations": operations,
        "devices": devices,
        "minimum": min(times),
        "median": statistics.median(times),
        "maximum": max(times),
    }


def find_broken(quality: Sequence[dict[str, Any]]) -> list[str]:
    """Return the requirements above that are not met. There is none for the time, which depends on the machine."""
    two, three = quality
    requirements = {
        f"with two devices {two['graphs'] - two['optimal']} of {two['graphs']} plans are not the cheapest": (
            two["optimal"] == two["graphs"]
        ),
        f"with three devices {three['worse_than_one_device']} plans are worse than the best single device": (
            not three["worse_than_one_device"]
        ),
        f"with three devices the mean ratio to the cheapest is {three['mean_ratio']:.5f}, not below {MEAN_RATIO}": (
            three["mean_ratio"] < MEAN_RATIO
        ),
    }
    return [violation for violation, is_met in requirements.items() if not is_met]


def show(quality: Sequence[dict[str, Any]], times: Sequence[dict[str, Any]]) -> None:
    out = Console()
    rows = Table("devices", "graphs", "optimal", "mean ratio", "worst ratio", "worse than one device", "mean gain")
    for q in quality:
        ratios = (f"{q['mean_ratio']:.5f}", f"{q['worst_ratio']:.3f}")
        rows.add_row(
            str(q["devices"]),
            str(q["graphs"]),
            str(q["optimal"]),
            *ratios,
            str(q["worse_than_one_device"]),
            f"{q['mean_gain']:.2f}×",
        )
    out.print(rows)
    rows = Table("operations", "devices", "minimum", "median", "maximum")
    for t in times:
        milliseconds = [f"{1e3 * t[key]:.1f} ms" for key in ("minimum", "median", "maximum")]
        rows.add_row(str(t["operations"]), str(t["devices"]), *milliseconds)
    out.print(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    quality = [against_brute_force(options.graphs, devices, options.seed) for devices in (2, 3)]
    times = [seconds(operations, devices, options.rounds) for operations in (100, 300) for devices in (2, 3)]
    broken = find_broken(quality)
    if options.json:
        print(json.dumps({"quality": quality, "times": times, "broken": broken}))
    else:
        show(quality, times)
        print("\n".join(f"BROKEN: {violation}" for violation in broken) or "all requirements are met")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
