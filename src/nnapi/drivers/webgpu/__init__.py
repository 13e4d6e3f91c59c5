"""The device ``webgpu``: the GPU, through LiteRT's accelerator (ML Drift on WebGPU on Vulkan). A process finds it."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from nnapi.contract.driver import Driver
from nnapi.errors import UnavailableDeviceError, need, need_value
from nnapi.host.device_files import find_files
from nnapi.host.installed_packages import version

SOFTWARE = "NNAPI_WEBGPU_SOFTWARE"
ACCELERATOR = "libLiteRtWebGpuAccelerator.so"
LOADER = "libvulkan.so.1"
PROBE = "nnapi.drivers.webgpu.probe"
PATIENCE = 30.0
"""Maximum seconds for the accelerator to add two numbers."""
HARDWARE = ("/dev/dri/renderD*", "/dev/nvidia*", "/dev/mali*", "/dev/kgsl-3d0", "/dev/dxg")
"""Device files of GPUs that have a Vulkan driver; ``*`` is a number."""
LOADER_CACHE = "/etc/ld.so.cache"
LOADER_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib")
MANIFESTS = (
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
)
"""Folders with the manifests of Vulkan drivers."""
CHOICES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")
"""Environment variables of Vulkan's loader that name manifests."""
SELECTED = r"Selected adapter: (?P<name>.*?), arch=.*adapterType=(?P<type>[^\n]*)"
"""The accelerator's log line with the name of its adapter."""


class Search:
    """The entry point: searches for an adapter and makes its driver. Its answer may be cached
    (:class:`base.Probed`)."""

    def identify(self) -> str:
        """Return a key of everything that the answer depends on; UnavailableDeviceError without a possible adapter."""
        engine = version("ai-edge-litert")
        library = find_accelerator()
        need(
            _wants_software() or find_files(HARDWARE),
            f"there is no GPU with a driver: no {', '.join(HARDWARE)} ({SOFTWARE}=1 uses Vulkan on the CPU)",
            UnavailableDeviceError,
        )
        files = [library, find_loader(), *find_manifests()]
        devices = find_files(HARDWARE)
        return f"webgpu, LiteRT {engine}, {[_describe_file(file) for file in files]}, {devices}"

    def ask(self) -> Any:
        """Return the adapter's name and type, from a process that adds on it; UnavailableDeviceError if that fails."""
        import subprocess  # on demand: not needed with a cached answer

        try:
            done = subprocess.run(
                [sys.executable, "-m", PROBE], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise UnavailableDeviceError(f"the accelerator said nothing for {PATIENCE:g} s") from None
        return read_answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def make(self, answer: Any) -> Driver:
        """Return the adapter's driver; UnavailableDeviceError for one in software, unless that is permitted."""
        from nnapi.drivers.webgpu.driver import WebGpuDriver

        name, kind = answer
        is_software = "CPU" in kind or "software" in kind.lower()
        need(
            _wants_software() or not is_software,
            f"the only adapter is {name}, which computes on the CPU ({SOFTWARE}=1 uses it all the same)",
            UnavailableDeviceError,
        )
        return WebGpuDriver(name, is_software)

    def __call__(self) -> Driver:
        """Search, and return the driver, without a cached answer."""
        self.identify()
        return self.make(self.ask())


search = Search()


def read_answer(status: int, said: str, noise: str) -> tuple[str, str]:
    """Return the adapter's name and type from the process's status and output; UnavailableDeviceError if it failed."""
    lines = said.strip().splitlines()
    if status or not lines or lines[-1] != "computed":
        reason = lines[-1] if lines else f"the process that tried the accelerator ended with status {status}"
        raise UnavailableDeviceError(f"no adapter that the accelerator can use: {reason}")
    found = re.search(SELECTED, noise) or re.search(SELECTED, said)
    if found is None:
        raise UnavailableDeviceError("the accelerator does not say which adapter it uses")
    return found["name"].strip(), found["type"].strip()


def find_accelerator() -> str:
    """Return the path of the accelerator's library; raise UnavailableDeviceError if this LiteRT has none."""
    spec = find_spec("ai_edge_litert")
    folders = (spec.submodule_search_locations if spec is not None else None) or []
    return _find_file(
        ACCELERATOR, folders, f"the installed LiteRT has no {ACCELERATOR}: its wheels have it from 2.3 on"
    )


def find_loader() -> str:
    """Return the path of Vulkan's loader, in the dynamic linker's folders; UnavailableDeviceError if there is none."""
    folders = [
        *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")),
        *_list_cached_folders(),
        *LOADER_FOLDERS,
    ]
    missing = f"no {LOADER} is installed (Debian: libvulkan1, and mesa-vulkan-drivers or NVIDIA's)"
    return _find_file(LOADER, folders, missing)


def _find_file(name: str, folders: Iterable[str], missing: str) -> str:
    paths = (os.path.join(folder, name) for folder in folders)
    path = next(filter(os.path.exists, paths), None)
    return need_value(path, missing, UnavailableDeviceError)


def _list_cached_folders() -> Iterator[str]:
    try:
        with open(LOADER_CACHE, "rb") as file:
            content = file.read()
    except OSError:
        return
    for found in re.findall(rb"(/[^\0]*)/" + re.escape(LOADER.encode()) + rb"\0", content):
        yield os.fsdecode(found)


def find_manifests() -> list[str]:
    """Return the paths of Vulkan drivers' manifests; raise UnavailableDeviceError if there are none."""
    named = [path for name in CHOICES for path in os.environ.get(name, "").split(":") if path]
    from glob import glob  # on demand: machines without a GPU do not need it

    users = os.path.join(os.path.expanduser("~"), ".local", "share", "vulkan", "icd.d")
    found = named + [path for folder in (*MANIFESTS, users) for path in glob(os.path.join(folder, "*.json"))]
    need(found, f"Vulkan has no drivers: {', '.join(MANIFESTS)} have no files", UnavailableDeviceError)
    return sorted(found)


def _describe_file(path: str) -> tuple[str, int, int]:
    """Return path, size and modification time, which a new installation changes."""
    try:
        state = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, state.st_size, state.st_mtime_ns


def _wants_software() -> bool:
    return os.environ.get(SOFTWARE, "0") not in ("", "0")
