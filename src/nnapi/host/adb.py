"""nnapi-agent on an Android phone, reached through ``adb``."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nnapi.errors import UnavailableDeviceError, need

FOLDER = "/data/local/tmp/nnapi"
AGENT = f"{FOLDER}/nnapi-agent"
SOCKET = "nnapi-agent"
START = f"{AGENT} --unix @{SOCKET} --cache {FOLDER}/cache --daemon"
BUILT = Path(__file__).parent.parent / "drivers" / "foreign" / "nnapi-agent-android"
LOCAL = BUILT.with_name("nnapi-agent")
"""nnapi-agent for this machine."""
PATIENCE = 60.0
"""Maximum seconds for a command of adb."""


def find_agent() -> Path:
    """Return the agent for this machine; UnavailableDeviceError if it was not built."""
    need(LOCAL.exists(), "nnapi was built without a C compiler, so it has no agent", UnavailableDeviceError)
    return LOCAL


def adb(serial: str, *words: str) -> str:
    """Run the words of an adb command for a phone; return its output. UnavailableDeviceError if it fails."""
    need(
        serial and not serial.startswith("-"), f"{serial!r} is not the serial number of a phone", UnavailableDeviceError
    )
    try:
        done = subprocess.run(
            ["adb", "-s", serial, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except FileNotFoundError:
        raise UnavailableDeviceError("the program adb is not installed") from None
    except subprocess.TimeoutExpired:
        raise UnavailableDeviceError(f"adb {words[0]} took longer than {PATIENCE:g} s for {serial}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise UnavailableDeviceError(f"adb {words[0]} for {serial} fails: {said or f'status {done.returncode}'}")
    return done.stdout.strip()


def start_agent(serial: str) -> None:
    """Start the agent on a phone, unless it is running."""
    told = adb(serial, "shell", f"test -x {AGENT} || echo missing")
    need(not told, f"the agent is not on {serial}: run `nnapi phone push {serial}`", UnavailableDeviceError)
    adb(serial, "shell", f"pidof nnapi-agent > /dev/null || {START}")


def push_agent(serial: str, file: Path = BUILT) -> None:
    """Remove an agent that may run on a phone, copy the agent there, and start it."""
    said = f"{file} does not exist: it is built with the package where clang and lld are, or ANDROID_NDK names an NDK"
    need(file.exists(), said, UnavailableDeviceError)
    remove_agent(serial)
    adb(serial, "shell", f"mkdir -p {FOLDER}/cache")
    adb(serial, "push", str(file), AGENT)
    adb(serial, "shell", f"chmod 755 {AGENT}")
    start_agent(serial)


def remove_agent(serial: str) -> None:
    """Stop the agent on a phone and remove its files."""
    adb(serial, "shell", f"kill $(pidof nnapi-agent) 2> /dev/null; rm -rf {FOLDER}")


@contextmanager
def forward(serial: str) -> Iterator[int]:
    """Forward a local port to the agent, and yield the port. Connections stay open after the forwarding."""
    port = adb(serial, "forward", "tcp:0", f"localabstract:{SOCKET}")
    try:
        yield int(port)
    finally:
        with suppress(UnavailableDeviceError):
            adb(serial, "forward", "--remove", f"tcp:{port}")
