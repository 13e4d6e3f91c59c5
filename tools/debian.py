"""Unpack Debian's packages of any architecture into a folder, without root and without installing them.

apt runs with a configuration of its own, with the same mirror as this machine's.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


def codename() -> str:
    """Return the name of this machine's release; raise ValueError if it is not a Debian."""
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian":
        raise ValueError(f"this is {release.get('PRETTY_NAME', 'not Debian')}; the packages come from Debian's mirrors")
    return release["VERSION_CODENAME"]


def mirror(release: str) -> str:
    """Return the address of the mirror that this machine uses for the release."""
    printed = subprocess.run(["apt-get", "update", "--print-uris"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^'(\S+)/dists/{release}/InRelease'", printed, re.MULTILINE)
    if not found:
        raise ValueError(f"no source of Debian {release} is configured here (see sources.list(5))")
    return found[1]


class Packages:
    """Fetches packages of one architecture. ``status`` is dpkg's list of installed packages; by default it is empty."""

    def __init__(self, folder: Path, architecture: str, suites: list[str], status: Path | None = None) -> None:
        self._archives = folder / "cache" / "archives"
        for made in (self._archives / "partial", folder / "state" / "lists" / "partial"):
            made.mkdir(parents=True, exist_ok=True)
        if status is None:
            status = folder / "status"
            status.touch()
        address = mirror(codename())
        sources, configuration = folder / "sources.list", folder / "apt.conf"
        sources.write_text("".join(f"deb {address} {suite} main\n" for suite in suites))
        configuration.write_text(_configuration(folder, architecture, sources, status))
        self._environment = os.environ | {"APT_CONFIG": str(configuration)}
        self._apt("update")

    def unpack(self, names: list[str], into: Path, suite: str = "") -> None:
        """Unpack the packages and all their dependencies."""
        for archive in self._archives.glob("*.deb"):
            archive.unlink()
        chosen = ["--target-release", suite] if suite else []
        self._apt("install", "--yes", "--download-only", "--no-install-recommends", *chosen, *names)
        into.mkdir(parents=True, exist_ok=True)
        for archive in sorted(self._archives.glob("*.deb")):
            subprocess.run(["dpkg", "-x", archive, into], check=True)

    def _apt(self, *words: str) -> None:
        subprocess.run(["apt-get", "--quiet=2", *words], check=True, env=self._environment, stdout=subprocess.DEVNULL)


def _configuration(folder: Path, architecture: str, sources: Path, status: Path) -> str:
    return f"""\
APT::Architecture "{architecture}";
#clear APT::Architectures;
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "";
Dir::State "{folder / "state"}";
Dir::State::status "{status}";
Dir::Cache "{folder / "cache"}";
Dir::Etc::SourceList "{sources}";
Dir::Etc::SourceParts "-";
Acquire::Languages "none";
"""
