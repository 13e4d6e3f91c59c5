"""Which delegates are configured, by the environment or by a file."""

import os
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


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are absolute; blanks between settings and options without a name are ignored or named."""
    monkeypatch.setenv("NNAPI_DELEGATES", " a=x.so?b=c&&d=, ,e=/y.so? ,f,=g")
    found = [*list_settings()]
    assert found[:2] == [
        DelegateDevice("a", os.path.abspath("x.so"), (("b", "c"), ("d", ""))),
        DelegateDevice("e", "/y.so"),
    ]
    assert [each.name for each in found] == ["a", "e", "f", "NNAPI_DELEGATES"]
    assert isinstance(found[2], Unusable)
    assert found[2].reason == "NNAPI_DELEGATES: 'f' must be NAME=PATH or NAME=PATH?OPTION=VALUE&…"


def test_values_of_options_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a]\nlibrary = 'x'\ntype = 'CPU'\noptions = { i = 3, f = 0.5, t = true, n = false, s = 'True' }"
    (found,) = configure(tmp_path, text, monkeypatch)
    assert found[2:] == (
        (("i", "3"), ("f", "0.5"), ("t", "true"), ("n", "false"), ("s", "True")),
        DeviceTypeCode.DEVICE_CPU,
    )


def test_no_file_configures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NNAPI_DELEGATES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert [*list_settings()] == []


def test_a_file_goes_on_after_a_wrong_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = configure(tmp_path, "[a]\nlibrary = ''\n[b]\nlibrary = '/x.so'", monkeypatch)
    assert isinstance(first, Unusable)
    assert (first.name, second.name) == ("a", "b")
    assert first.reason.endswith("delegates.toml: a.library must be the path of a delegate")
    assert isinstance(second, DelegateDevice)
