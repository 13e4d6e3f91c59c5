"""A program that answers as ``adb`` does, for one phone, SERIAL, whose files are below the folder PHONE: ``devices``,
``push``, ``shell`` and ``forward``. Abstract sockets of the phone have the folder's name added."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

PHONE = os.environ.get("PHONE", "")
OWN = hashlib.sha256(PHONE.encode()).hexdigest()[:12]


def main(words: list[str]) -> int:
    if words == ["devices"]:
        print("List of devices attached\nSERIAL\tdevice\n")
        return 0
    flag, serial, command, *rest = words
    assert flag == "-s"
    if serial != "SERIAL":
        print(f"adb: device '{serial}' not found", file=sys.stderr)
        return 1
    commands: dict[str, Callable[..., int]] = {"push": push, "shell": shell, "forward": forward}
    return commands[command](*rest)


def push(source: str, target: str) -> int:
    shutil.copy(source, PHONE + target)
    print(f"{source}: 1 file pushed, 0 skipped.")
    return 0


def shell(line: str) -> int:
    program = f"{PHONE}/data/local/tmp/nnapi/nnapi-agent"
    line = line.replace("pidof nnapi-agent", "pidof_one | grep .").replace("@nnapi-agent", f"@{OWN}")
    line = line.replace("getprop ro.product.model", "echo Stand-in")
    line = re.sub(r"getprop \S+", "echo", line).replace("/data/local/tmp", f"{PHONE}/data/local/tmp")
    running = " ".join(find_processes(program))
    return subprocess.run(["sh", "-c", f"pidof_one() {{ echo {running}; }}; {line}"], check=False).returncode


def find_processes(program: str) -> Iterator[str]:
    """Of this program only: there may be other agents on this machine."""
    for process in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            if os.readlink(f"/proc/{process}/exe") == program:
                yield process


def forward(local: str, remote: str) -> int:
    file = Path(PHONE, "forwards")
    if local == "--remove":
        os.kill(int(Path(f"{file}-{remote}").read_text()), signal.SIGTERM)
        return 0
    assert local == "tcp:0"
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    child = os.fork()
    if child:
        Path(f"{file}-tcp:{port}").write_text(str(child))
        print(port)
        return 0
    os.setsid()
    for descriptor in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    relay(listener, "\0" + OWN)
    os._exit(0)


def relay(listener: socket.socket, name: str) -> None:
    """Accept until SIGTERM; connections live on."""
    signal.signal(signal.SIGTERM, lambda *_: listener.close())
    copies = []
    with suppress(OSError):
        while True:
            near, far = listener.accept()[0], socket.socket(socket.AF_UNIX)
            try:
                far.connect(name)
            except OSError:
                near.close()
                continue
            for ends in ((near, far), (far, near)):
                copies.append(threading.Thread(target=copy, args=ends))
                copies[-1].start()
    for each in copies:
        each.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
