"""`nnapi devices` on the real machine and on an invented one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.capi import installation
from nnapi.cli import app
from nnapi.codes import DeviceTypeCode, OperandCode, OperationCode
from nnapi.contract.driver import Capabilities, DeviceInfo, Extension, Performance
from nnapi.model.operation import REGISTRY
from nnapi.profiles.reading import read_profile
from nnapi.runtime.device import Unavailable
from nnapi.testing import device_survey


@dataclass
class Npu:
    """As much of a driver as a list needs."""

    info: DeviceInfo = field(
        default_factory=lambda: DeviceInfo(
            "npu", "2.1", DeviceTypeCode.DEVICE_ACCELERATOR, 5, (Extension("com.example.tiles"),)
        )
    )

    def capabilities(self) -> Capabilities:
        fast = Performance(0.1, 0.5)
        return Capabilities(by_type={OperandCode.TENSOR_FLOAT16: fast, OperandCode.TENSOR_QUANT8_ASYMM: fast})


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nnapi, "devices", lambda: [nnapi.Device(Npu())])  # type: ignore[arg-type]
    monkeypatch.setattr(installation, "library_problem", lambda: None)
    monkeypatch.setattr(nnapi, "unavailable_devices", lambda: [Unavailable("gpu", "ImportError: no CUDA [12]")])


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["devices", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_lists_the_reference() -> None:
    line = next(line for line in shown().splitlines() if line.startswith("nnapi-reference"))
    assert [line.split()[1], line.split()[-1]] == ["CPU", "8"]


@pytest.mark.usefixtures("invented")
def test_facts_and_reasons() -> None:
    lines = shown().splitlines()
    assert lines[1].split() == ["npu", "ACCELERATOR", "2.1", "5"]
    assert lines[-1].split(maxsplit=1) == ["gpu", "ImportError: no CUDA [12]"]


@pytest.mark.usefixtures("invented")
def test_verbose() -> None:
    text = shown("-v")
    assert "npu 2.1, ACCELERATOR, feature level 5" in text
    assert "com.example.tiles" in text
    assert "0.1 × the reference's time, 0.5 × its power for TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM" in text
    assert "for other types, relaxed float32, IF, WHILE" in text
    assert Npu.__module__ in text
    assert __file__ in text
    assert "no CUDA" in text


@pytest.mark.usefixtures("invented")
def test_json() -> None:
    found = json.loads(shown("--json"))
    assert found["unavailable"] == [{"name": "gpu", "reason": "ImportError: no CUDA [12]"}]
    (device,) = found["devices"]
    assert (device["name"], device["type"], device["version"], device["feature_level"]) == (
        "npu",
        "DEVICE_ACCELERATOR",
        "2.1",
        5,
    )
    assert device["capabilities"]["TENSOR_FLOAT16"] == {"exec_time": 0.1, "power_usage": 0.5}
    assert device["driver"] == {"module": Npu.__module__, "path": __file__}


@pytest.mark.usefixtures("invented")
def test_a_c_library_that_was_not_built_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip hides the message of setup.py."""
    monkeypatch.setattr(installation, "library_problem", lambda: "not built: install gcc")
    assert shown().splitlines()[-1].strip().split(maxsplit=1) == ["libneuralnetworks.so", "not built: install gcc"]
    listed = json.loads(shown("--json"))["unavailable"]
    assert listed[-1] == {"name": "libneuralnetworks.so", "reason": "not built: install gcc"}
    assert "not built" not in shown("--device", "nnapi-reference")


def test_no_device_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nnapi, "devices", list)
    assert shown().startswith("no device is available")


def test_costs_are_those_that_drivers_ship() -> None:
    assert "nnapi-reference: launch" in shown("--costs")
    data = json.loads(shown("--costs", "--json"))["devices"]["nnapi-reference"]
    assert data["launch_seconds"] > 0
    assert all(seconds >= 0 for seconds in data["costs"]["convolution, quant8"].values())
    row = next(line for line in shown("--costs").splitlines() if "convolution" in line)
    assert [cell for cell in row.split() if cell in ("µs", "ns")] == ["µs", "ns", "ns"]


def test_a_profile_of_a_device_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_survey, "REGISTRY", {OperationCode.ADD: REGISTRY[OperationCode.ADD]})
    file = tmp_path / "saved.toml"
    assert "nnapi-reference supports 1 operation" in shown("--save-profile", str(file), "--device", "nnapi-reference")
    assert list(read_profile(file).operations) == [OperationCode.ADD]


def test_a_table_is_written_as_a_profile(tmp_path: Path) -> None:
    (tmp_path / "npu.csv").write_text("operation,type,supported\nADD,FLOAT32,yes\n")
    file = tmp_path / "npu.toml"
    assert "written to" in shown("--save-profile", str(file), "--matrix", str(tmp_path / "npu.csv"))
    assert list(read_profile(file).operations) == [OperationCode.ADD]


def test_a_profile_is_that_of_one_device(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["devices", "--save-profile", str(tmp_path / "saved.toml")])
    assert result.exit_code == 2
    assert result.stderr.startswith("nnapi: --save-profile needs --matrix or exactly one --device (")


def test_one_device_alone() -> None:
    result = CliRunner().invoke(app, ["devices", "--device", "nnapi-reference"])
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2
    found = json.loads(CliRunner().invoke(app, ["devices", "-d", "nnapi-reference", "--json"]).stdout)
    assert [each["name"] for each in found["devices"]] == ["nnapi-reference"]


def test_a_device_that_is_not_there() -> None:
    result = CliRunner().invoke(app, ["devices", "--device", "foo"])
    assert result.exit_code == 4
    assert result.stderr.startswith("nnapi: no device 'foo'; there are: ")


@pytest.mark.usefixtures("invented")
def test_a_device_with_a_substitute_has_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nnapi.Device, "substitute", "only pretended")
    text = shown("-v")
    assert "only pretended" in text
    assert "reference's time" not in text
    assert "transfer" not in text
    assert "only pretended" in shown("--costs")
    (device,) = json.loads(shown("--json"))["devices"]
    assert (device["capabilities"], device["launch_seconds"], device["seconds_per_byte"]) == ({}, None, None)
