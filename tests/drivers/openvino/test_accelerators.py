"""When the engine is asked for more than the CPU."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nnapi.drivers import openvino


@pytest.mark.parametrize(("names", "count"), [([], 0), (["card0"], 0), (["card0", "renderD128"], 1)])
def test_files_of_devices(names: list[str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names:
        (tmp_path / name).touch()
    places = str(tmp_path / "none" / "accel*"), str(tmp_path / "renderD*")
    monkeypatch.setattr(openvino, "ACCELERATORS", places)
    asked: list[list[str]] = []

    def list_devices() -> list[str]:
        asked.append(["CPU", "GPU", "GNA"])
        return asked[-1]

    monkeypatch.setattr(openvino, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(openvino, "version", lambda name: "1.0")
    monkeypatch.setattr(openvino, "_engine", lambda: SimpleNamespace(list_devices=list_devices))
    assert [driver.info.name for driver in openvino.driver()] == ["openvino-cpu", "openvino-gpu"][: 1 + count]
    assert len(asked) == count
