"""The lock of the packages that build a release."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.environment import FailedError
from tools.release_lock import BUILD, LOCK, select, write_build_lock
from tools.size import REPOSITORY


def test_every_package_of_the_group_is_pinned_with_hashes() -> None:
    group = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["dependency-groups"]["release"]
    lock = LOCK.read_text()
    for requirement in group:
        name = re.match(r"[\w-]+", requirement)
        assert name is not None
        assert "--hash=sha256:" in select([name[0]], lock)


def test_a_build_needs_only_its_packages(tmp_path: Path) -> None:
    written = write_build_lock(tmp_path / "folder" / "lock.txt", has_cffi=True).read_text()
    assert {line.partition("==")[0] for line in written.splitlines() if "==" in line} == set(BUILD)
    without = write_build_lock(tmp_path / "lock.txt", has_cffi=False).read_text()
    assert {line.partition("==")[0] for line in without.splitlines() if "==" in line} == {"setuptools"}


def test_a_missing_package_is_named() -> None:
    with pytest.raises(FailedError, match=r"release-lock\.txt lacks hatchling: run make lock"):
        select(["hatchling", "cffi"], "cffi==2 \\\n    --hash=sha256:0\n")
