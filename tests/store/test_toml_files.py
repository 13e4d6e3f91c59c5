"""TOML files that take too long, or nest too deep."""

from pathlib import Path

import pytest

from nnapi.errors import BadDataError
from nnapi.store.toml_files import read_toml


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 1\n" * 43_691, "it has 262146 bytes, at most 262144 are possible"),
        (f"a{'.a' * 2050} = 1", "a line has 4105 bytes, at most 4096 are possible"),
        (f"a = [\n{'[' * 4000}\n", "its values are nested too deep"),
        ("a = ", "Invalid value"),
        ("a = \x00", "Invalid value"),
    ],
)
def test_a_file_that_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(BadDataError, match=f"^{path}: .*{reason}"):
        read_toml(path)


def test_a_file_that_is_not_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    with pytest.raises(BadDataError, match=f"^{path}: No such file or directory$"):
        read_toml(path)
    path.write_bytes(b"\xff")
    with pytest.raises(BadDataError, match=f"^{path}: .*can't decode"):
        read_toml(path)


def test_the_largest_file(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    lines = [f"a{number} = [{'1, ' * 1300}]\n" for number in range(66)]
    path.write_text("".join(lines))
    assert [len(value) for value in read_toml(path).values()] == [1300] * 66
