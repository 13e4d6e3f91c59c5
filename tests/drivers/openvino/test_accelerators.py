"""When the engine is asked for more than the CPU."""

from pathlib import Path

import pytest

from nnapi.drivers import openvino


@pytest.mark.parametrize(("names", "found"), [([], False), (["card0"], False), (["card0", "renderD128"], True)])
def test_files_of_devices(names: list[str], found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names:
        (tmp_path / name).touch()
    places = str(tmp_path / "none" / "accel*"), str(tmp_path / "renderD*")
    monkeypatch.setattr(openvino, "ACCELERATORS", places)
    assert openvino._has_accelerators() is found
