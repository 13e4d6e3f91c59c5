"""Files of hardware are found as glob finds them, but for names with something else than a number behind them."""

from pathlib import Path

import pytest

from nnapi.host.device_files import find_files


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("renderD*", ["renderD128", "renderD129"]),
        ("nvidia*", ["nvidia0"]),
        ("dxg", ["dxg"]),
        ("absent", []),
        ("absent/accel*", []),
        ("dxg/accel*", []),
    ],
)
def test_patterns(pattern: str, found: list[str], tmp_path: Path) -> None:
    for name in ("renderD129", "renderD128", "card0", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia", "dxg"):
        (tmp_path / name).touch()
    assert find_files([str(tmp_path / pattern)]) == [str(tmp_path / name) for name in found]


def test_all_are_sorted_together(tmp_path: Path) -> None:
    for name in ("b", "a1"):
        (tmp_path / name).touch()
    assert find_files([str(tmp_path / "b"), str(tmp_path / "a*")]) == [str(tmp_path / "a1"), str(tmp_path / "b")]
