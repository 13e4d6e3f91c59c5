"""The chip that NNAPI_QUALCOMM names."""

import pytest

from nnapi.drivers import qualcomm
from nnapi.drivers.qualcomm.chips import CHIPS, find_chip
from nnapi.errors import UnavailableDeviceError


def test_a_chip_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NNAPI_QUALCOMM", raising=False)
    assert find_chip().name == "SM8650"
    monkeypatch.setenv("NNAPI_QUALCOMM", "SM8750")
    assert find_chip() == ("SM8750", 69, 79)


def test_an_unknown_chip_is_told_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_QUALCOMM", "SM1")
    with pytest.raises(UnavailableDeviceError, match="'SM1', must be one of SM8350, .*SM8750$"):
        find_chip()
    assert all(name == chip.name for name, chip in CHIPS.items())


def test_without_the_package_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qualcomm, "find_spec", lambda name: None)
    monkeypatch.delenv("NNAPI_QUALCOMM", raising=False)
    assert qualcomm.find_drivers() == []
    monkeypatch.setenv("NNAPI_QUALCOMM", "SM8650")
    with pytest.raises(UnavailableDeviceError, match=r"install nnapi\[qualcomm\]"):
        qualcomm.find_drivers()
