"""Random problems for the partitioner, and their best solutions by trying all."""

import random
from typing import Any

import numpy as np

from nnapi.runtime.planning.partition import FORBIDDEN, HOST, Flow, Problem


def random_problem(rng: random.Random, operations: int, devices: int, refusals: float = 0.2) -> Problem:
    """A random graph whose first device takes everything."""
    compute = [
        [rng.uniform(0.1, 10) if device == 0 or rng.random() > refusals else FORBIDDEN for device in range(devices)]
        for _ in range(operations)
    ]
    flows = [Flow(None, (0,), rng.randrange(1, 1000))]
    for producer in range(operations):
        later = range(producer + 1, operations)
        readers = tuple(sorted(rng.sample(later, min(len(later), rng.randrange(0, 4)))))
        flows.append(Flow(producer, readers, rng.randrange(1, 1000), to_host=not readers or rng.random() < 0.1))
    launch = [rng.uniform(0, 3) for _ in range(devices)]
    per_byte = [rng.uniform(0, 0.01) for _ in range(devices)]
    return Problem(compute, flows, launch, per_byte)


def cheapest(problem: Problem) -> float:
    """The cost of the best of all assignments, by computing them all at once."""
    count, devices = len(problem.compute), len(problem.devices)
    numbers = np.arange(devices**count)
    places = [numbers // devices**position % devices for position in range(count)]
    total = np.zeros(len(numbers))
    for costs, place in zip(problem.compute, places, strict=True):
        total += np.array(costs)[place]
    for flow in problem.flows:
        total += _moves(problem, flow, places)
    return float(total.min())


def _moves(problem: Problem, flow: Flow, places: list[Any]) -> Any:
    """The cost of moving the tensor in each assignment: once for each other device that reads it, and the host."""
    total: Any = 0.0
    for target in problem.devices:
        read = np.zeros(len(places[0]), bool)
        for consumer in flow.consumers:
            read |= places[consumer] == target
        total = total + read * _from(problem, flow, places, target)
    return total + _from(problem, flow, places, HOST) if flow.to_host else total


def _from(problem: Problem, flow: Flow, places: list[Any], target: int) -> Any:
    if flow.producer is None:
        return problem.move(flow, HOST, target)
    return np.array([problem.move(flow, source, target) for source in problem.devices])[places[flow.producer]]


def best_single(problem: Problem) -> float:
    count = len(problem.compute)
    return min(problem.cost((device,) * count) for device in problem.devices)
