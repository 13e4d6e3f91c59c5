"""The options of a delegate."""

from collections.abc import Mapping

from nnapi.codes import DeviceTypeCode
from nnapi.compiling import compile
from nnapi.errors import BadDataError, need
from nnapi.model.model import Model
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device, device, list_candidates
from nnapi.runtime.thread_counts import read_threads

OPTIONS = "devices", "threads", "cache", "explain", "dynamic"
"""Names of options. ``dynamic`` has no effect: graphs with dynamic tensors are always accepted."""
ALIASES = {"accelerator_name": "devices", "num_threads": "threads", "cache_dir": "cache"}
"""Names that other delegates have for these options."""


class DelegateSettings:
    """The options of a delegate: ``devices``, names separated by commas; ``threads``; ``cache``, a directory.
    ``explain`` is a file to which a report on each graph is appended."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Parse the options; raise BadDataError for an unknown option or an invalid value."""
        named = {ALIASES.get(name, name): value for name, value in options.items()}
        unknown = [name for name in named if name not in OPTIONS]
        need(not unknown, f"no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}", BadDataError)
        names = [name.strip() for name in named.get("devices", "").split(",") if name.strip()]
        self.devices = [device(name) for name in names] or None
        threads = named.get("threads", "")
        need(not threads or threads.isdecimal(), f"threads is {threads!r}, must be a number", BadDataError)
        self.threads = read_threads(int(threads or 0) or None)
        self.cache = named.get("cache") or None
        self.explain = named.get("explain") or None

    def list_engines(self) -> list[Device]:
        """Return the devices that may be faster than LiteRT: all but the reference; none if ``devices`` names any."""
        return (
            [] if self.devices else [each for each in list_candidates(None) if each.type != DeviceTypeCode.DEVICE_CPU]
        )

    def compile(self, model: Model, threads: int | None) -> Compilation:
        return compile(model, self.devices, threads=self.threads or threads, cache=self.cache)
