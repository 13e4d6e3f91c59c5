"""The version of the code that writes cached entries."""

from pathlib import Path

import pytest

from nnapi.store import code_version


def test_a_change_of_sources_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nnapi"
    (package / "drivers" / "some").mkdir(parents=True)
    monkeypatch.setattr(code_version, "__file__", str(package / "store" / "code_version.py"))
    find = code_version.find_last_change.__wrapped__
    found = [find()]
    for name in ("new.py", "newer.py", "table.txt"):
        (package / "drivers" / "some" / name).write_text("x")
        found.append(find())
    assert len(set(found)) == 4
