"""Limits of each application of a service, enforced by its worker process and the service."""

import os
import resource
from contextlib import suppress
from errno import EMFILE
from typing import NamedTuple

from nnapi.drivers.isolated.process_limits import limit_memory
from nnapi.errors import BadDataError, OutOfMemoryError, ResourceExhaustedPersistentError, need

LARGEST_MEMORY = 4 << 30
EXPENDABLE = 500
"""Added to a worker's score for the out-of-memory killer."""


class Allowance(NamedTuple):
    """Limits of one application. An error names the limit and its option of ``nnapi serve``."""

    memory: int = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4, LARGEST_MEMORY)
    """Bytes of its own, beyond those that the service has loaded."""
    models: int = 256
    """Maximum models, and prepared models."""
    threads: int = 64 + (os.cpu_count() or 1)
    """Concurrent runs, and threads of one model."""
    descriptors: int = 1024
    seconds: float = 120.0
    """Maximum seconds of one run or preparation; then the worker is ended."""

    def check(self) -> None:
        """Raise BadDataError for a limit that is not positive."""
        for name, value in self._asdict().items():
            need(value > 0, f"{name} is {value}, must be above 0", BadDataError)

    def enforce(self) -> None:
        """Limit the memory and the descriptors of this process."""
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write(str(EXPENDABLE))
        limit_memory(private_bytes() + self.memory)
        for kind, most in ((resource.RLIMIT_NOFILE, self.descriptors), (resource.RLIMIT_CORE, 0)):
            hard = resource.getrlimit(kind)[1]
            wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (wanted, wanted))

    def need_fewer(self, number: int, name: str) -> None:
        """Raise ResourceExhaustedPersistentError if the limit of that name is reached."""
        limit = getattr(self, name)
        need(
            number < limit,
            f"this application has {number} {name}, as many as the service allows one (nnapi serve --{name})",
            ResourceExhaustedPersistentError,
        )

    def explain(self, error: Exception) -> Exception:
        """Return the error, or one that names the limit behind it."""
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
    """Return the private bytes of this process."""
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmData"))) << 10
