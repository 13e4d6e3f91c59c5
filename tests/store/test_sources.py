"""The version of the code that writes cached entries."""

from pathlib import Path

import pytest

from nnapi.store import sources


def test_a_change_of_sources_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nnapi"
    (package / "drivers" / "some").mkdir(parents=True)
    monkeypatch.setattr(sources, "__file__", str(package / "store" / "sources.py"))
    find = sources.find_last_change.__wrapped__
    found = [find()]
    for name in ("new.py", "newer.py", "table.txt"):
        (package / "drivers" / "some" / name).write_text("x")
        found.append(find())
    assert len(set(found)) == 4
