"""Devices: their properties, profiles that are named, drivers of a library, and the records of searches."""

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nnapi
from nnapi import BadDataError, Device, UnavailableDeviceError
from nnapi.contract.driver import DeviceInfo
from nnapi.model.extension import Extension
from nnapi.runtime import device as module
from nnapi.runtime.device import device, list_candidates
from nnapi.runtime.device_queue import DeviceQueue
from nnapi.trace import Layer
from tests.discovery import replace_devices
from tests.runtime.cache_cases import Slow
from tests.runtime.device_cases import ABS, REFERENCE, Scripted, as_it_is, chain, limited


def with_attributes(**attributes: object) -> Device:
    driver = Scripted(as_it_is, "chip")
    for name, value in attributes.items():
        setattr(driver, name, value)
    return Device(driver)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """The devices of a machine, a list that tests may fill."""
    devices = [REFERENCE]
    replace_devices(monkeypatch, devices)
    return devices


def test_the_properties_of_a_device_are_those_of_its_driver() -> None:
    plain = with_attributes()
    assert (plain.is_out, plain.starts_slowly, plain.is_measured, plain.is_by_name) == (False, False, True, False)
    assert plain.layer is Layer.DRIVER
    assert with_attributes(is_remote=True).layer is Layer.IPC
    assert with_attributes(is_remote=True).starts_slowly
    assert with_attributes(starts_slowly=True).starts_slowly
    assert not with_attributes(is_measured=False).is_measured
    assert with_attributes(is_by_name=True).is_by_name
    assert with_attributes(outage=lambda: "broken").is_out
    assert not with_attributes(outage=lambda: "").is_out


def test_a_driver_that_caches_prepared_models_says_so_by_its_methods() -> None:
    driver = Slow()
    assert Device(driver).caches is driver
    assert with_attributes().caches is None


def test_waiting_and_closing_are_forwarded_to_drivers_that_can() -> None:
    calls: list[str] = []
    chip = with_attributes(wait=lambda: calls.append("wait"), close=lambda: calls.append("close"))
    for each in (chip, with_attributes()):
        each.wait()
        each.close()
    assert calls == ["wait", "close"]


def test_a_device_has_as_many_slots_as_there_are_processors_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert len(Device(Scripted(as_it_is)).queue._free) == 3
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert len(Device(Scripted(as_it_is)).queue._free) == 1
    queue = DeviceQueue(2)
    assert Device(Scripted(as_it_is), queue).queue is queue


def test_the_extensions_of_a_device() -> None:
    driver = Scripted(as_it_is, "chip")
    driver.info = driver.info._replace(extensions=(Extension("com.example.one"), Extension("com.example.two")))
    chip = Device(driver)
    assert chip.extensions == ("com.example.one", "com.example.two")
    assert chip.supports_extension("com.example.two")
    assert not chip.supports_extension("com.example.three")


def test_a_device_is_printed_with_version_type_and_level() -> None:
    driver = Scripted(as_it_is, "chip")
    driver.info = DeviceInfo("chip", "1.2", nnapi.DeviceTypeCode.DEVICE_GPU, 5)
    chip = Device(driver)
    assert str(chip) == "chip"
    assert repr(chip) == "<nnapi.Device chip 1.2, DEVICE_GPU, FEATURE_LEVEL_5>"


def test_the_operations_that_a_device_takes_are_in_the_order_of_the_model() -> None:
    assert limited("positive", [ABS]).supports(chain(3)) == [True, False, True]


def test_devices_to_choose_from(found: list[Device]) -> None:
    by_name, quick = with_attributes(is_by_name=True), limited("quick")
    found[:0] = [by_name, quick]
    assert list_candidates(None) == [quick, REFERENCE]
    assert list_candidates("chip") == list_candidates(by_name) == [by_name]
    assert list_candidates(["quick", by_name]) == [quick, by_name]
    with pytest.raises(UnavailableDeviceError, match="no device 'none'; there are: chip, quick, nnapi-reference$"):
        list_candidates(["none"])


def test_a_library_names_its_device_if_that_is_the_only_one(found: list[Device]) -> None:
    one = with_attributes(library="vendor")
    found.insert(0, one)
    assert device("vendor") is one
    found.insert(0, with_attributes(library="vendor"))
    with pytest.raises(UnavailableDeviceError, match="no device 'vendor'"):
        device("vendor")


def test_a_profile_is_one_device_for_each_file(
    found: list[Device], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_described", {})
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\n')
    (tmp_path / "link.toml").symlink_to(tmp_path / "one.toml")
    one, two, link = (device(str(tmp_path / f"{name}.toml")) for name in ("one", "two", "link"))
    assert (one.name, two.name) == ("one", "two")
    assert one is link is device(str(tmp_path / "one.toml"))
    (tmp_path / "taken.toml").write_text('name = "nnapi-reference"\n')
    with pytest.raises(BadDataError, match="name is 'nnapi-reference', which is a device of this machine"):
        device(str(tmp_path / "taken.toml"))


@pytest.mark.parametrize(("age", "asked"), [(3599.0, 1), (3601.0, 2)])
def test_hardware_that_was_not_found_is_searched_for_again_after_an_hour(
    age: float, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    now, questions = [1e9], list[str]()

    class Search:
        def identify(self) -> str:
            return "chip"

        def ask(self) -> Any:
            questions.append("asked")
            raise UnavailableDeviceError("there is none")

        def make(self, answer: Any) -> Any:
            return answer

    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now[0]))
    for _ in range(2):
        with pytest.raises(UnavailableDeviceError, match="there is none"):
            module.make_drivers(Search())
        now[0] += age
    assert len(questions) == asked


@pytest.mark.parametrize(
    ("isolated", "service", "attributes", "wanted"),
    [
        ("", "", {}, False),
        ("chip", "", {}, True),
        ("other, chip ,", "", {}, True),
        ("other", "", {}, False),
        ("all", "", {}, True),
        ("", "/run/socket", {}, True),
        ("other", "/run/socket", {}, False),
        ("", "", {"isolated": True}, True),
        ("all", "", {"is_remote": True}, False),
    ],
)
def test_drivers_that_get_a_process(
    isolated: str, service: str, attributes: dict[str, bool], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NNAPI_ISOLATED", isolated)
    monkeypatch.setenv("NNAPI_SERVICE", service)
    assert module._is_isolated(with_attributes(**attributes).driver) is wanted
    assert module._is_isolated(REFERENCE.driver) is False


@pytest.mark.parametrize(
    ("error", "reason"),
    [(UnavailableDeviceError("no driver of a GPU"), "no driver of a GPU"), (ValueError("odd"), "ValueError: odd")],
)
def test_the_reason_why_a_device_is_unavailable(error: Exception, reason: str) -> None:
    assert module._explain("gpu", error) == ("gpu", reason)


def test_a_device_is_pickled_by_its_name(tmp_path: Path) -> None:
    profile = tmp_path / "npu.toml"
    profile.write_text('name = "npu"\n[operations.ADD]\ntypes = ["TENSOR_FLOAT32"]\n')
    for each in (REFERENCE, device(str(profile))):
        assert pickle.loads(pickle.dumps(each)) is each
    with pytest.raises(BadDataError, match="another process cannot find it by its name"):
        pickle.dumps(Device(Slow()))


def test_what_is_not_a_device() -> None:
    for wrong, message in ((3, "devices is 3"), ([3], "a device is of type int, must be nnapi.Device")):
        with pytest.raises(BadDataError, match=message):
            list_candidates(wrong)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(BadDataError, match="the name of a device is 3"):
        device(3)  # type: ignore[arg-type]  # the mistake
