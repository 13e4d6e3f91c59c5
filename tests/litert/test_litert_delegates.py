"""Delegates that programs name, and the devices that stand for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
from nnapi.litert import delegates, load_delegate  # LiteRT is part of the package's interface
from nnapi.litert.delegates import list_devices

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a fixed list of devices."""
    there = [SimpleNamespace(name=name) for name in ("xnnpack-cpu", "nnapi-reference")]
    monkeypatch.setattr(delegates, "devices", lambda: there)


@pytest.mark.parametrize(
    ("library", "options", "devices"),
    [
        ("libnnapi_delegate.so", {}, None),
        ("/usr/lib/libnnapi_delegate.so", {"accelerator_name": "nnapi-reference"}, ["nnapi-reference"]),
        ("libnnapi_delegate.so", {"devices": "xnnpack-cpu, nnapi-reference"}, ["xnnpack-cpu", "nnapi-reference"]),
        ("libxnnpack_delegate.so", {}, ["xnnpack-cpu"]),
        ("nnapi-reference", {}, ["nnapi-reference"]),
    ],
)
def test_a_delegate_is_the_devices_that_stand_for_it(library: str, options: dict[str, str], devices: Any) -> None:
    assert list_devices([load_delegate(library, options)]) == devices


def test_several_delegates_are_all_their_devices() -> None:
    named = [
        load_delegate("xnnpack-cpu"),
        "nnapi-reference",
        SimpleNamespace(_library=SimpleNamespace(_name="xnnpack-cpu")),
    ]
    assert list_devices(named) == ["xnnpack-cpu", "nnapi-reference"]
    assert list_devices(None) is None


def test_what_nothing_stands_for_is_refused() -> None:
    there = "there are xnnpack-cpu, nnapi-reference"
    with pytest.raises(
        ValueError, match=f"Failed to load delegate from libedgetpu.so.1: no device replaces it; {there}"
    ):
        load_delegate("libedgetpu.so.1")
    with pytest.raises(ValueError, match="no device tpu; there are"):
        load_delegate("libnnapi_delegate.so", {"devices": "tpu"})
    with pytest.raises(ValueError, match="5 is not a delegate"):
        list_devices([5])
