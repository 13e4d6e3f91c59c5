"""Nothing that we start reaches for the network or leaves files where nobody expects them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi.host.without_telemetry import import_onnxruntime
from tests.random_tflite import UINT8, Kind, random_model

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

pytestmark = pytest.mark.engine

WATCHED = """
import json, sys
from pathlib import Path
seen = Path(sys.argv[1])
def watch(event, arguments):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.send")):
        with seen.open("a") as file:
            file.write(f"{event} {arguments}\\n")
sys.addaudithook(watch)
"""
RUN = """
from nnapi.cli import main
for command in json.loads(sys.argv[2]):
    sys.argv[:] = ["nnapi", *command]
    try:
        main()
    except SystemExit as end:
        with seen.with_name("ends").open("a") as file:
            file.write(f"{end.code or 0} {' '.join(command)}\\n")
"""
MODEL = "model.tflite"
COMMANDS = [
    ["devices"],
    ["info", MODEL],
    ["explain", MODEL],
    ["run", MODEL],
    ["run", MODEL, "--device", "openvino-cpu"],
    ["run", MODEL, "--device", "xnnpack-cpu"],
    ["run", MODEL, "--device", "nnapi-reference"],
    ["trace", MODEL, "-o", "trace.json"],
    ["trace", "parse", "trace.json"],
    ["cache", "list", "."],
    ["lib"],
    ["bench", MODEL, "--rounds", "1", "--requests", "1", "--output", "figures.json"],
    ["bench", "diff", "figures.json", "figures.json"],
]
WITHOUT_EXAMPLES = ["check", "."]
SILENCING = ("CI", "ORT_DISABLE_TELEMETRY")
"""Variables by which engines would be silent without our doing."""
STRACE = shutil.which("strace")
TRACED = ["-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]


def environment(place: Path) -> dict[str, str]:
    ours = "NNAPI_", "DEBUG_NN_", "XDG_"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in SILENCING}
    return kept | {"HOME": str(place / "home"), "XDG_CACHE_HOME": str(place / "caches")}


def can_trace() -> bool:
    """Whether this system lets a process trace another."""
    return STRACE is not None and subprocess.run([STRACE, "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, a folder of caches and one to work in, with a model, after all commands in one process, which strace
    watches where it can."""
    place = tmp_path_factory.mktemp("place")
    for name in ("home", "caches", "work"):
        (place / name).mkdir()
    model = random_model(Kind("MAX_POOL_2D", UINT8), np.random.default_rng(0))
    (place / "work" / MODEL).write_bytes(model)
    words = [sys.executable, "-c", WATCHED + RUN, str(place / "seen"), json.dumps([*COMMANDS, WITHOUT_EXAMPLES])]
    before = [STRACE, *TRACED, str(place / "calls")] if STRACE and can_trace() else []
    ran = subprocess.run(
        [*before, *words], cwd=place / "work", env=environment(place), capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    ends = (place / "ends").read_text().splitlines()
    assert ends[:-1] == [f"0 {' '.join(command)}" for command in COMMANDS], ran.stderr
    assert not ends[-1].startswith("0"), "there are no examples to check"
    return place


@pytest.mark.slow
def test_commands_connect_to_nothing_and_leave_nothing(place: Path) -> None:
    assert not (place / "seen").exists(), (place / "seen").read_text()
    assert not list((place / "home").iterdir())
    assert [path.name for path in (place / "caches").iterdir()] in ([], ["nnapi"])


@pytest.mark.slow
def test_nor_do_their_libraries(place: Path) -> None:
    if not (place / "calls").exists():
        pytest.skip("needs strace, and a system that lets a process trace another")
    assert not re.search("AF_INET", (place / "calls").read_text())


def test_the_watch_sees_connections(tmp_path: Path) -> None:
    program = WATCHED + "import socket; socket.getaddrinfo('localhost', 80)"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "seen")], check=True)
    assert "getaddrinfo" in (tmp_path / "seen").read_text()


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


def test_openvino_is_imported_without_its_converter_until_a_program_asks_for_it() -> None:
    code = """
import sys
from nnapi.host.without_telemetry import import_openvino
openvino = import_openvino()
assert not {"openvino.tools.ovc", "numpy.ma", "openvino_telemetry"} & set(sys.modules)
assert not hasattr(openvino, "another_name")
from openvino import convert_model
assert convert_model is openvino.convert_model is sys.modules["openvino.tools.ovc"].convert_model
assert "openvino_telemetry" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_converter_that_a_program_has_imported_stays() -> None:
    code = """
import sys, openvino
converter = sys.modules["openvino.tools.ovc"]
from nnapi.host.without_telemetry import import_openvino
assert import_openvino().convert_model is converter.convert_model
assert sys.modules["openvino.tools.ovc"] is converter
"""
    subprocess.run([sys.executable, "-c", code], check=True)
