"""Build and check a wheel in another Linux system in a folder, made by debootstrap or exported from a container.

The system may have a Python, a C library or a processor that this machine lacks: a newer Debian, musl, or aarch64 if
the kernel runs its programs with qemu (binfmt_misc). The folder needs Python 3.11 or newer with venv and its headers, a
C compiler, pkg-config and /etc/resolv.conf. Root may use any folder. Other users may use folders that they own, in a
user namespace.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools import release_lock
from tools.environment import FailedError, output

REPOSITORY = Path(__file__).resolve().parent.parent
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NEEDED = (
    "tools/__init__.py",
    "tools/environment.py",
    "tools/proofs.py",
    "tests/clients/devices.c",
    "tests/clients/client.h",
    "tests/clients/check.h",
    "examples/digits",
)
"""The files that tools/proofs.py needs to check a wheel."""

ENTER = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
"""A script that runs a command in the folder $0. Its mounts are in a private namespace, and end with the command."""


@dataclass(frozen=True)
class System:
    """A system in its folder."""

    folder: Path

    @property
    def python(self) -> str:
        """The newest Python of the system."""
        names = [path.name for path in self.folder.glob("usr/bin/python3.*")]
        minors = [int(found[1]) for found in map(re.compile(r"python3\.(\d+)").fullmatch, names) if found]
        if not minors:
            raise FailedError(f"{self.folder} has no /usr/bin/python3.N: install Python 3.11 or newer there")
        return f"/usr/bin/python3.{max(minors)}"

    def run(self, *words: str | Path, **variables: str) -> str:
        """Return the output of a program of the system."""
        private = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
        command = [*private, "sh", "-c", ENTER, self.folder, *words]
        return output(command, SYSTEM, None, HOME="/tmp", TMPDIR="/tmp", **variables)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """Make a folder in the system with the files that check a wheel, and remove it at the end."""
        with tempfile.TemporaryDirectory(prefix="nnapi-release-", dir=self.folder / "tmp") as name:
            for needed in NEEDED:
                source, target = REPOSITORY / needed, Path(name, needed)
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.is_dir():
                    shutil.copytree(source, target)
                else:
                    shutil.copy(source, target)
            yield Path(name)

    def inside(self, path: Path) -> str:
        """Return the path of a file as seen from inside the system."""
        return f"/{path.relative_to(self.folder)}"

    def build(self, workspace: Path, sdist: Path) -> Path:
        """Build the wheel from the source distribution with the system's pip."""
        source = Path(shutil.copy(sdist, workspace))
        environment = self.inside(workspace / "build")
        self.run(self.python, "-m", "venv", environment)
        python = f"{environment}/bin/python"
        has_cffi = self.run(python, "-c", release_lock.HAS_CFFI).strip() == "True"
        lock = release_lock.write_build_lock(workspace / "build-lock.txt", has_cffi)
        self.run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", self.inside(lock))
        words = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", self.inside(workspace / "raw")]
        self.run(python, "-m", "pip", "wheel", *words, self.inside(source))
        (built,) = (workspace / "raw").glob("*.whl")
        return built

    def prove(self, workspace: Path, wheel: Path, examples: Path) -> str:
        """Check the wheel with tools/proofs.py in the system; return the output."""
        files = [self.inside(Path(shutil.copy(path, workspace))) for path in (wheel, examples)]
        return self.run(self.python, "-m", "tools.proofs", *files, PYTHONPATH=self.inside(workspace))
