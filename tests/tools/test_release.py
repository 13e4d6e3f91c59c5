"""Refusals of `make release`."""

import pytest

from tools.environment import FailedError
from tools.release import need_changes, read_version


def test_a_version_without_changes_is_refused() -> None:
    need_changes("1.2.0", "# Changelog\n\n## 1.2.0\n")
    with pytest.raises(FailedError, match=r"no section for 1\.3\.0"):
        need_changes("1.3.0", "# Changelog\n\n## 1.2.0\n")


def test_the_version_is_the_one_of_the_project() -> None:
    assert read_version().count(".") == 2
