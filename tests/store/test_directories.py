"""Where things are kept that nobody named a directory for."""

import pytest

from nnapi.store.directories import HOLDS, RecordKind, default_directory, directory_of


@pytest.mark.parametrize(
    ("chosen", "users", "place"),
    [("/mine", "/cache", "/mine"), (None, "/cache", "/cache/nnapi"), (None, None, "/home/x/.cache/nnapi")],
)
def test_the_directory_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, users: str | None, place: str
) -> None:
    for name, value in (("NNAPI_CACHE_DIR", chosen), ("XDG_CACHE_HOME", users), ("HOME", "/home/x")):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    assert default_directory() == place


def test_each_kind_has_a_folder_and_a_word_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", "/mine")
    assert {directory_of(kind) for kind in RecordKind} == {
        "/mine/plans",
        "/mine/models",
        "/mine/exclusions",
        "/mine/prepared",
        "/mine/probes",
    }
    assert set(HOLDS) == set(RecordKind)
