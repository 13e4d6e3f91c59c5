"""Where LiteRT has no wheel (32-bit systems, a new Python) everything but its device works."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIDDEN = """
import runpy, sys


class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "ai_edge_litert":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden)
sys.modules.pop("ai_edge_litert", None)
import nnapi.host.installed_packages as installed

version = installed.version


def without(distribution):
    if distribution == "ai-edge-litert":
        raise ModuleNotFoundError("No package metadata was found for ai-edge-litert")
    return version(distribution)


installed.version = without
sys.argv = ["nnapi", *sys.argv[1:]]
runpy.run_module("nnapi", run_name="__main__")
"""
DIGITS = Path(__file__).parents[1] / "examples" / "digits"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``nnapi`` in a process of its own, in which LiteRT is not to be found."""
    monkeypatch.delenv("DEBUG_NN_CPUONLY")
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", "xnnpack")

    def call(*words: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", HIDDEN, *map(str, words)], capture_output=True, text=True, check=False
        )

    return call


@pytest.mark.slow
def test_the_device_is_listed_with_the_reason(command: Any) -> None:
    done = command("devices", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [device["name"] for device in found["devices"]] == ["nnapi-reference"]
    reasons = {each["name"]: each["reason"] for each in found["unavailable"]}
    assert reasons["xnnpack-cpu"] == "ModuleNotFoundError: No module named 'ai_edge_litert'"


@pytest.mark.slow
def test_models_are_loaded_run_and_explained(command: Any) -> None:
    for words in (["info"], ["run"], ["explain"]):
        done = command(*words, DIGITS / "digits_quant.tflite")
        assert done.returncode == 0, done.stderr
        assert not done.stderr
    assert "nnapi-reference" in done.stdout


@pytest.mark.slow
def test_examples_pass(command: Any) -> None:
    done = command("check", "--filter", "ABS", "--variants", "plain,burst")
    assert done.returncode == 0, done.stderr
    assert "no run failed" in done.stdout


@pytest.mark.slow
def test_asking_for_the_device_is_one_message(command: Any) -> None:
    done = command("run", DIGITS / "digits_quant.tflite", "--device", "xnnpack-cpu")
    assert done.returncode == 4
    assert done.stderr.startswith(
        "nnapi: no device 'xnnpack-cpu'; there are: nnapi-reference; xnnpack-cpu is unavailable"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_files_are_not_migrated(command: Any, tmp_path: Path) -> None:
    """They are compared in LiteRT."""
    done = command("migrate", DIGITS / "digits_quant.tflite", "--output", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "nnapi: files are compared in LiteRT, which is missing: pip install ai-edge-litert\n"
    assert not list(tmp_path.iterdir())
