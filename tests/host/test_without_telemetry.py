"""Nothing that we start reaches for the network or leaves files where nobody expects them."""

import os
import re
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from nnapi.host.without_telemetry import import_onnxruntime
from tests.random_tflite import UINT8, Kind, random_model

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

pytestmark = pytest.mark.engine

WATCHED = """
import sys
from pathlib import Path
seen = Path(sys.argv.pop(1))
def watch(event, arguments):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.send")):
        with seen.open("a") as file:
            file.write(f"{event} {arguments}\\n")
sys.addaudithook(watch)
from nnapi.cli import main
sys.exit(main())
"""
COMMANDS = {
    "devices": ["devices"],
    "info": ["info", "MODEL"],
    "explain": ["explain", "MODEL"],
    "run": ["run", "MODEL"],
    "run on openvino-cpu": ["run", "MODEL", "--device", "openvino-cpu"],
    "run on xnnpack-cpu": ["run", "MODEL", "--device", "xnnpack-cpu"],
    "run on nnapi-reference": ["run", "MODEL", "--device", "nnapi-reference"],
    "trace": ["trace", "MODEL", "-o", "trace.json"],
    "cache": ["cache", "list", "."],
    "lib": ["lib"],
    "check": ["check", "."],
    "bench": ["bench", "MODEL", "--rounds", "1", "--requests", "1", "--output", "figures.json"],
}
SECOND = {
    "bench": ["bench", "diff", "figures.json", "figures.json"],
    "trace": ["trace", "parse", "trace.json"],
}
"""Commands that read what another one wrote."""
SILENCING = ("CI", "ORT_DISABLE_TELEMETRY")
"""Variables by which engines would be silent without our doing."""


@pytest.fixture
def place(tmp_path: Any) -> Any:
    """A home, a folder of caches and one to work in, with a model."""
    for name in ("home", "caches", "work"):
        (tmp_path / name).mkdir()
    model = random_model(Kind("MAX_POOL_2D", UINT8), np.random.default_rng(0))
    (tmp_path / "work/model.tflite").write_bytes(model)
    return tmp_path


def environment(place: Any) -> Any:
    ours = "NNAPI_", "DEBUG_NN_", "XDG_"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in SILENCING}
    return kept | {"HOME": str(place / "home"), "XDG_CACHE_HOME": str(place / "caches")}


def run(place: Any, command: list[str], *before: str) -> Any:
    arguments = [word.replace("MODEL", "model.tflite") for word in command]
    line = [*before, sys.executable, "-c", WATCHED, str(place / "seen"), *arguments]
    return subprocess.run(
        line, cwd=place / "work", env=environment(place), capture_output=True, text=True, timeout=600, check=False
    )


def need_untouched(place: Any) -> None:
    assert not list((place / "home").iterdir())
    assert [path.name for path in (place / "caches").iterdir()] in ([], ["nnapi"])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_connect_to_nothing_and_leave_nothing(place: Any, name: str) -> None:
    ran = run(place, COMMANDS[name])
    assert ran.returncode == 0 or name == "check", ran.stderr  # there are no examples to check
    assert not (place / "seen").exists(), (place / "seen").read_text()
    if name in SECOND:
        ran = run(place, SECOND[name])
        assert ran.returncode == 0, ran.stderr
        assert not (place / "seen").exists(), (place / "seen").read_text()
    need_untouched(place)


def test_the_watch_sees_connections(place: Any) -> None:
    program = WATCHED.partition("from nnapi.cli")[0] + "import socket; socket.getaddrinfo('localhost', 80)"
    subprocess.run([sys.executable, "-c", program, str(place / "seen")], check=True)
    assert "getaddrinfo" in (place / "seen").read_text()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("name", ["run", "run on openvino-cpu", "bench"])
def test_nor_do_their_libraries(place: Any, name: str) -> None:
    calls = place / "calls"
    traced = ("strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(calls))
    ran = run(place, COMMANDS[name], *traced)
    if "PTRACE" in ran.stderr or "ptrace" in ran.stderr:
        pytest.skip("this system lets no process trace another")
    assert ran.returncode == 0, ran.stderr
    assert not re.search("AF_INET", calls.read_text())
    need_untouched(place)


def test_who_imports_the_telemetry_later_finds_it() -> None:
    program = """
import sys
from nnapi.drivers.openvino.api import ov
assert "openvino_telemetry" not in sys.modules, sorted(sys.modules)
import importlib.util
assert importlib.util.find_spec("openvino_telemetry") is None or __import__("openvino_telemetry")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_onnxruntime_is_silent_unless_the_environment_lets_it_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    import_onnxruntime()
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    import_onnxruntime()
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "0"
