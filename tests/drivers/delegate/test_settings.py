"""Which delegates are configured, by the environment or by a file."""

from pathlib import Path

import pytest

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.delegate.settings import DelegateDevice, list_settings, parse_setting
from nnapi.drivers.isolated.probing import Unusable
from nnapi.errors import BadDataError, UnavailableDeviceError


def test_options_are_read() -> None:
    found = parse_setting("npu=/a%2Cb/libx.so?power=low&name=a%26b=c")
    assert found == ("npu", "/a,b/libx.so", (("power", "low"), ("name", "a&b=c")), DeviceTypeCode.DEVICE_ACCELERATOR)


@pytest.mark.parametrize("text", ["npu", "=lib.so", "npu=", "npu=?a=b", "npu=lib.so?a", "npu=lib.so?=b"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(BadDataError, match="NNAPI_DELEGATES: .* must be"):
        parse_setting(text)


def configure(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> list[DelegateDevice | Unusable]:
    monkeypatch.delenv("NNAPI_DELEGATES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    (folder / "nnapi").mkdir()
    (folder / "nnapi" / "delegates.toml").write_text(text)
    return [*list_settings()]


def test_a_file_names_delegates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[npu]\nlibrary = "libx.so"\ntype = "GPU"\noptions = { level = 3, fast = true }\n[b]\nlibrary = "/b.so"'
    first, second = configure(tmp_path, text, monkeypatch)
    library = str(tmp_path / "nnapi" / "libx.so")
    assert first == ("npu", library, (("level", "3"), ("fast", "true")), DeviceTypeCode.DEVICE_GPU)
    assert second == ("b", "/b.so", (), DeviceTypeCode.DEVICE_ACCELERATOR)
    monkeypatch.setenv("NNAPI_DELEGATES", "")
    assert [*list_settings()] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("npu = 3", "npu must be a table"),
        ("[npu]\nlib = 'x'", "npu.lib is not known; there are library, options, type"),
        ("[npu]\n", "npu.library must be the path of a delegate"),
        ("[npu]\nlibrary = 'x'\ntype = 'NPU'", "npu.type must be one of .*GPU.*, is 'NPU'"),
        ("[npu]\nlibrary = 'x'\noptions = 3", "npu.options must be a table"),
        ("[npu]\nlibrary = 'x'\noptions = { a = [] }", "npu.options.a must be a string or a number"),
        ("npu", r"delegates.toml: "),
    ],
)
def test_what_a_file_says_wrongly_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    (found,) = configure(tmp_path, text, monkeypatch)
    with pytest.raises(UnavailableDeviceError, match=reason):
        _ = found.info  # type: ignore[union-attr]


def test_a_name_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_DELEGATES", "a=/x.so,a=/y.so")
    _, second = list_settings()
    assert isinstance(second, Unusable)
    assert second.reason == "a is configured twice"
