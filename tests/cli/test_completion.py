"""The words that the shell offers while a command is typed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import nnapi
from nnapi.cli.completion import (
    complete_devices,
    complete_list,
    complete_models,
    complete_operations,
    complete_profiles,
)
from tests.warm_python import warm_python


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.tflite", "b.onnx", "notes.txt", ".hidden.tflite", "nets/deep.tflite", "nets/inner/c.onnx"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["digits", "a.tflite", "b.onnx", "nets/"]),
        ("a", ["a.tflite"]),
        ("dig", ["digits"]),
        ("ne", []),  # one folder: the shell completes it without a space behind it
        ("nets/", ["nets/deep.tflite", "nets/inner/"]),
        ("nets/d", ["nets/deep.tflite"]),
        (".h", [".hidden.tflite"]),
        ("nowhere/", []),
    ],
)
def test_models(typed: str, offered: list[str]) -> None:
    assert complete_models(typed) == offered


def test_names() -> None:
    assert complete_devices("nnapi-r") == ["nnapi-reference"]
    assert complete_devices("") == [device.name for device in nnapi.devices()]
    assert complete_profiles("arm") == ["arm_nn.toml"]
    assert complete_operations("DEPTH") == ["DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE"]


def test_lists() -> None:
    complete = complete_list(["red", "green", "gray"])
    assert complete("g") == ["green", "gray"]
    assert complete("green,") == ["green,red", "green,gray"]
    assert complete("red,green,gr") == ["red,green,gray"]
    assert complete_list(complete_devices)("a,nnapi-ref") == ["a,nnapi-reference"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("nnapi run dig", "digits"),
        ("nnapi explain --device nnapi-r", "nnapi-reference"),
        ("nnapi view x.tflite --profile arm", "arm_nn.toml"),
        ("nnapi compare x.tflite -d nnapi-ref", "nnapi-reference"),
        ("nnapi check --filter CONV", "CONV_2D"),
        ("nnapi check --variants pl", "plain"),
        ("nnapi bench --against onnx", "onnxruntime"),
    ],
)
def test_in_bash(words: str, offered: str, folder: Path) -> None:
    environment = {**os.environ, "_NNAPI_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    code = "from nnapi.cli import main; main()"
    done = subprocess.run(
        [warm_python(), "-c", code], capture_output=True, text=True, env=environment, check=False, cwd=folder
    )
    assert done.stdout.split() == [offered]
