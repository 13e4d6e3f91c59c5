"""Virtual environments like a user's: Python, packages that pip installs, and no compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = ("HOME", "LANG", "TMPDIR")
"""The variables that programs inherit, besides PATH and pip's; those of the Python that runs this are not."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in its folder."""

    folder: Path

    @classmethod
    def new(cls, folder: Path, python: Path) -> Environment:
        """Make an environment; replace the folder if it exists."""
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        return cls(folder)

    def run(self, *words: str | Path, path: str | None = None, where: Path | None = None) -> str:
        """Return the output of a program of this environment. By default, PATH has only this environment."""
        return output([self.folder / "bin" / words[0], *words[1:]], path or str(self.folder / "bin"), where)

    def pip(self, *words: str | Path, path: str | None = None) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", *words, path=path)

    def moved(self, folder: Path) -> Environment:
        """Move the environment to another folder."""
        shutil.rmtree(folder, ignore_errors=True)
        return Environment(self.folder.rename(folder))


class FailedError(Exception):
    """A program failed; the text has its command and its output."""


def output(words: Sequence[str | Path], path: str = "", where: Path | None = None, **variables: str) -> str:
    """Run a program with this PATH, the variables in :data:`KEPT` and pip's; return its output."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PIP_")}
    done = subprocess.run(words, cwd=where, env=kept | {"PATH": path} | variables, capture_output=True, text=True)
    if done.returncode:
        command = " ".join(map(str, words))
        raise FailedError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
