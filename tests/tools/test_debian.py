"""Where the packages of another architecture come from."""

from pathlib import Path

import pytest

from tools import debian

LISTED = """\
'http://mirror.example/security/dists/bookworm-security/InRelease' a 0
'http://mirror.example/debian/dists/bookworm/InRelease' b 0
'http://mirror.example/debian/dists/bookworm-updates/InRelease' c 0
"""


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine whose apt-get has three sources."""
    command = tmp_path / "apt-get"
    command.write_text(f"#!/bin/sh\ncat <<END\n{LISTED}END\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("apt")
def test_mirror_is_the_one_of_this_machine() -> None:
    assert debian.mirror("bookworm") == "http://mirror.example/debian"
    with pytest.raises(ValueError, match="no source of Debian trixie"):
        debian.mirror("trixie")


def test_other_systems_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    release = {"ID": "fedora", "PRETTY_NAME": "Fedora 42"}
    monkeypatch.setattr(debian.platform, "freedesktop_os_release", lambda: release)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="this is Fedora 42"):
        debian.codename()
