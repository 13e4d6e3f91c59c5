"""A service's limits for each application, enforced by the service and the application's worker."""

import os
import resource
from contextlib import suppress
from errno import EMFILE
from typing import NamedTuple

from nnapi.drivers.isolated.process_limits import limit_memory
from nnapi.errors import BadDataError, OutOfMemoryError, ResourceExhaustedPersistentError, need

LARGEST_MEMORY = 4 << 30
EXPENDABLE = 500
"""Value of a worker's oom_score_adj: the system kills workers first if memory runs out."""
OPTIONS = {"threads": "max-threads"}
"""The options of ``nnapi serve`` that have not the names of their limits."""


class Allowance(NamedTuple):
    """The limits of one application. Error messages name the limit and the option of ``nnapi serve`` that sets it."""

    memory: int = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4, LARGEST_MEMORY)
    """Private bytes of a worker, besides those that the service has loaded."""
    models: int = 256
    """Maximum number of models, and of prepared models."""
    threads: int = 64 + (os.cpu_count() or 1)
    """Maximum number of concurrent runs, and of threads per model."""
    descriptors: int = 1024
    seconds: float = 120.0
    """Maximum seconds of a run or preparation, after which the worker is ended."""

    def check(self) -> None:
        """Raise BadDataError for a limit that is not above 0."""
        for name, value in self._asdict().items():
            need(value > 0, f"{name} is {value}, must be above 0", BadDataError)

    def enforce(self) -> None:
        """Limit the memory and the descriptors of this process, a worker."""
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write(str(EXPENDABLE))
        limit_memory(private_bytes() + self.memory)
        for kind, most in ((resource.RLIMIT_NOFILE, self.descriptors), (resource.RLIMIT_CORE, 0)):
            hard = resource.getrlimit(kind)[1]
            wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (wanted, wanted))

    def need_fewer(self, number: int, name: str) -> None:
        """Raise ResourceExhaustedPersistentError unless ``number`` is below the limit called ``name``."""
        limit, option = getattr(self, name), OPTIONS.get(name, name)
        need(
            number < limit,
            f"this application has {number} {name}, as many as the service allows one (nnapi serve --{option})",
            ResourceExhaustedPersistentError,
        )

    def explain(self, error: Exception) -> Exception:
        """Return the error, or for lack of descriptors or memory, one that names the limit."""
        if self is UNLIMITED:
            return error
        if isinstance(error, OSError) and error.errno == EMFILE:
            allowed = f"the service allows an application {self.descriptors} (nnapi serve --descriptors)"
            return ResourceExhaustedPersistentError(f"no descriptor is left: {allowed}")
        if isinstance(error, MemoryError):
            allowed = f"the service allows an application {self.memory >> 20} MiB (nnapi serve --memory)"
            return OutOfMemoryError(f"no memory is left: {allowed}")
        return error


UNLIMITED = Allowance(memory=1 << 62, models=1 << 30, threads=1 << 12, descriptors=1 << 20, seconds=float("inf"))


def private_bytes() -> int:
    """Return the private bytes of this process (VmData)."""
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmData"))) << 10
