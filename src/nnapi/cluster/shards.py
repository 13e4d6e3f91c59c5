"""Inputs in shards on the workers of a Ray cluster; each worker caches its compilation.

Ray runs each shard as a task. If a worker dies, another runs its shard again; other results remain. Results come in the
order of the inputs, and a bounded number of shards runs ahead of the next result.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.runtime.run_many import Progress, RunMany, count_inputs

Work: TypeAlias = Callable[[Any], Any]
"""The work on each input of a shard: it travels to the worker, and what it caches there stays in memory."""

RAY = "ray"
SHARD = 16
"""Inputs in a shard."""
SHARDS_AHEAD = 3
"""Shards for each processor of the cluster that may be begun before the first of them is given back."""
RETRIES = 3
"""Attempts for a shard whose worker died before it counts as the cause."""
LOOPBACK = "127.0.0.1"


class Failure(NamedTuple):
    """The exception that an input raised on its worker."""

    error: Exception


class Cluster:
    """A connection to Ray."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    @property
    def processors(self) -> int:
        """Shards that run at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(self, work: Work, inputs: Iterable[Any], progress: Progress | None = None) -> RunMany:
        """Yield the result of ``work`` for each input, in order, as :meth:`Compilation.run_many` does."""
        return RunMany(self._run_all(work, inputs), count_inputs(inputs), progress)

    def _run_all(self, work: Work, inputs: Iterable[Any]) -> Generator[Any, None, None]:
        ray, source = self._ray, iter(inputs)
        task = ray.remote(run_shard).options(num_cpus=1, max_retries=RETRIES)
        shared = ray.put(work)
        most = SHARDS_AHEAD * self.processors
        begun: deque[tuple[Any, int, int]] = deque()
        first = 0
        try:
            while True:
                while len(begun) < most and (shard := list(islice(source, SHARD))):
                    begun.append((task.remote(shared, shard), first, first + len(shard) - 1))
                    first += len(shard)
                if not begun:
                    return
                results = self._wait(*begun[0])
                begun.popleft()
                for result in results:
                    yield result.error if isinstance(result, Failure) else result
        finally:
            for waiting, _, _ in begun:
                ray.cancel(waiting, force=False)

    def _wait(self, shard: Any, first: int, last: int) -> Any:
        """The results of a shard; OpFailedError where it ends its workers, or the cluster is gone."""
        try:
            return self._ray.get(shard)
        except self._ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise OpFailedError(
                f"inputs {first} to {last} were given up after {1 + RETRIES} workers: {reason}"
            ) from None


def run_shard(work: Work, shard: Iterable[Any]) -> list[Any]:
    """Run one input after the other on a worker; return each result or exception."""
    return [_run_one(work, given) for given in shard]


def _run_one(work: Work, given: Any) -> Any:
    try:
        return work(given)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # some cannot travel
            error = OpFailedError(f"{type(error).__name__}: {error}")
        return Failure(error)


@contextmanager
def connect(place: str) -> Iterator[Cluster]:
    """The cluster at ``ray://HOST:PORT``; for ``ray`` alone the one that RAY_ADDRESS names, else one of this machine's
    processors that ends with the block and listens to nobody else.

    Ray's own reports of its use are switched off, unless RAY_USAGE_STATS_ENABLED says otherwise. OpFailedError where
    Ray is not installed or does not answer.
    """
    need(
        place == RAY or place.startswith(f"{RAY}://"),
        f"{place!r} is not a cluster: use ray or ray://HOST:PORT",
        BadDataError,
    )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = place if place != RAY else os.environ.get("RAY_ADDRESS")
    if address is None:  # Ray takes 127.0.0.1 for an address of the network's, and listens there, unless this is off
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise OpFailedError("Ray is not installed: pip install 'nnapi[ray]'") from None
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        options |= {"num_cpus": len(os.sched_getaffinity(0)), "include_dashboard": False, "_node_ip_address": LOOPBACK}
    try:
        ray.init(address or "local", **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OpFailedError(f"no Ray at {address or 'this machine'}: {error}") from None
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()
