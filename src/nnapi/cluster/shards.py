"""Run inputs in shards, one Ray task per shard. If a worker dies, another worker runs its shard again."""

import logging
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from nnapi.errors import BadDataError, OpFailedError
from nnapi.runtime.run_many import Progress, RunMany, count_inputs

Work: TypeAlias = Callable[[Any], Any]
"""The function that a worker applies to each input of a shard. Its caches live as long as the worker."""

RAY = "ray"
SHARD = 16
SHARDS_AHEAD = 3
"""Submitted shards per processor, counted from the next result."""
RETRIES = 3
LOOPBACK = "127.0.0.1"


class Failure(NamedTuple):
    error: Exception


class Cluster:
    def __init__(self, ray: Any) -> None:
        self._ray = ray

    @property
    def processors(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _most_processors(self) -> int:
        """Return the processors of the largest node; a task that asks for more would wait for ever."""
        return max((int(node["Resources"].get("CPU", 1)) for node in self._ray.nodes() if node["Alive"]), default=1)

    def map(self, work: Work, inputs: Iterable[Any], progress: Progress | None = None) -> RunMany:
        """Yield the result of ``work`` for each input, in order, as :meth:`Compilation.run_many` does."""
        return RunMany(self.run_all(work, inputs), count_inputs(inputs), progress)

    def run_all(self, work: Work, inputs: Iterable[Any], threads: int = 1) -> Generator[Any, None, None]:
        """Yield the result of ``work`` for each input, in order, or its exception. ``work`` uses ``threads``."""
        ray, source = self._ray, iter(inputs)
        task = ray.remote(run_shard).options(num_cpus=min(threads, self._most_processors()), max_retries=RETRIES)
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
        """Return the results of a shard; raise OpFailedError if its workers die or the cluster is unreachable."""
        try:
            return self._ray.get(shard)
        except self._ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise OpFailedError(
                f"inputs {first} to {last} were given up after {1 + RETRIES} workers: {reason}"
            ) from None


def run_shard(work: Work, shard: Iterable[Any]) -> list[Any]:
    """Run the inputs in order on a worker; return each result or :class:`Failure`."""
    return [_run_one(work, given) for given in shard]


def _run_one(work: Work, given: Any) -> Any:
    try:
        return work(given)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # some exceptions cannot be pickled
            error = OpFailedError(f"{type(error).__name__}: {error}")
        return Failure(error)


@contextmanager
def connect(url: str) -> Iterator[Cluster]:
    """Connect to ``ray://HOST:PORT``. For ``ray``, connect to RAY_ADDRESS, else start a private cluster on this
    machine's processors.

    Ray's usage reports are off unless RAY_USAGE_STATS_ENABLED is set. OpFailedError if Ray is missing or silent.
    """
    if url != RAY and not url.startswith(f"{RAY}://"):
        raise BadDataError(f"{url!r} is not a cluster: use ray or ray://HOST:PORT")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = url if url != RAY else os.environ.get("RAY_ADDRESS")
    if address is None:  # else Ray replaces 127.0.0.1 by a network address and listens on it
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise OpFailedError("Ray is not installed: pip install 'nnapi[ray]'") from None
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        options |= {"num_cpus": len(os.sched_getaffinity(0)), "include_dashboard": False, "_node_ip_address": LOOPBACK}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address or "local", **options)
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's own ends the process with 15
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OpFailedError(f"no Ray at {address or 'this machine'}: {error}") from None
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()
