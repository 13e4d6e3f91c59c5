"""Whether there is an adapter: cheap questions first, then one process, and a reason for each no."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nnapi.drivers.webgpu as webgpu
from nnapi.contract.driver import Probed
from nnapi.drivers.webgpu import SOFTWARE, find_accelerator, find_loader, find_manifests, read_answer, search
from nnapi.errors import UnavailableDeviceError

NOISE = """INFO: [environment.cc:36] Creating LiteRT environment with options
I0000 00:00:1.2 3 environment.cc:532] Selected adapter: {name}, arch=xe, vendor=mesa, backend=Vulkan, adapterType={type}
INFO: [delegate_webgpu.cc:363] Created a WebGPU environment.
"""
HARD = NOISE.format(name="Intel(R) Graphics (ADL GT2)", type="Integrated GPU")
SOFT = NOISE.format(name="llvmpipe (LLVM 15.0.6, 256 bits)", type="CPU / Software")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has all it takes: an accelerator, a loader, a driver and a file of a GPU."""
    for name in (*webgpu.CHOICES, SOFTWARE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "gpu.json"))
    for name in (webgpu.ACCELERATOR, webgpu.LOADER, "gpu.json", "renderD128"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setattr(webgpu, "HARDWARE", (str(tmp_path / "renderD*"),))
    monkeypatch.setattr(webgpu, "LOADER_CACHE", str(tmp_path / "ld.so.cache"))
    monkeypatch.setattr(webgpu, "LOADER_FOLDERS", ())
    monkeypatch.setattr(webgpu, "version", lambda name: "2.3.0")
    monkeypatch.setattr(webgpu, "find_accelerator", lambda: str(tmp_path / webgpu.ACCELERATOR))
    return tmp_path


def refusal() -> str:
    with pytest.raises(UnavailableDeviceError) as caught:
        search.identify()
    return str(caught.value)


def test_the_entry_point_is_one_whose_answers_are_kept() -> None:
    assert isinstance(search, Probed)


def test_without_litert_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise ModuleNotFoundError(f"no {name}")

    monkeypatch.setattr(webgpu, "version", missing)
    with pytest.raises(ModuleNotFoundError, match="no ai-edge-litert"):
        search.identify()


def test_a_litert_without_the_accelerator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webgpu, "find_accelerator", find_accelerator)
    monkeypatch.setattr(webgpu, "find_spec", lambda name: None)
    assert refusal() == "the installed LiteRT has no libLiteRtWebGpuAccelerator.so: its wheels have it from 2.3 on"


def test_without_a_gpu_nothing_more_is_looked_at(machine: Path) -> None:
    for name in ("renderD128", webgpu.LOADER, "gpu.json"):
        (machine / name).unlink()
    assert refusal().startswith("there is no GPU with a driver: no ")
    assert "NNAPI_WEBGPU_SOFTWARE=1 uses Vulkan on the CPU" in refusal()


def test_software_is_looked_for_where_it_is_asked_for(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "renderD128").unlink()
    monkeypatch.setenv(SOFTWARE, "0")
    assert "there is no GPU" in refusal()
    monkeypatch.setenv(SOFTWARE, "1")
    assert "LiteRT 2.3.0" in search.identify()


def test_without_the_loader_the_package_is_named(machine: Path) -> None:
    (machine / webgpu.LOADER).unlink()
    assert refusal() == "no libvulkan.so.1 is installed (Debian: libvulkan1, and mesa-vulkan-drivers or NVIDIA's)"


def test_the_loader_is_found_where_the_linker_s_cache_says(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH")
    folder = os.fsencode(machine)
    other = b"/usr/lib/libvulkan_intel.so\0libvulkan.so.1.3\0"
    (machine / "ld.so.cache").write_bytes(b"glibc\0" + other + b"libvulkan.so.1\0" + folder + b"/libvulkan.so.1\0")
    assert find_loader() == str(machine / webgpu.LOADER)


def test_without_drivers_the_folders_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VK_DRIVER_FILES")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(webgpu, "MANIFESTS", ("/nowhere/icd.d",))
    assert refusal() == "Vulkan has no drivers: /nowhere/icd.d have no files"


def test_drivers_are_found_in_the_user_s_folder_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".local" / "share" / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    (folder / "own.json").write_text("{}")
    assert str(folder / "own.json") in find_manifests()


def test_another_driver_loader_or_gpu_is_asked_anew(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {search.identify()}
    assert search.identify() in seen
    for name in (webgpu.ACCELERATOR, webgpu.LOADER, "gpu.json"):
        (machine / name).write_bytes(b"newer")
        seen.add(search.identify())
    (machine / "renderD129").write_bytes(b"")
    seen.add(search.identify())
    monkeypatch.setattr(webgpu, "version", lambda name: "2.4.0")
    seen.add(search.identify())
    assert len(seen) == 6


def test_the_adapter_is_what_the_accelerator_says() -> None:
    assert read_answer(0, "computed\n", HARD) == ("Intel(R) Graphics (ADL GT2)", "Integrated GPU")
    assert read_answer(0, "warned\ncomputed\n", SOFT) == ("llvmpipe (LLVM 15.0.6, 256 bits)", "CPU / Software")


@pytest.mark.parametrize(
    ("status", "said", "noise", "reason"),
    [
        (-11, "", HARD, "no adapter that the accelerator can use: the process that tried the accelerator ended with"),
        (0, "driver too old\n", HARD, "no adapter that the accelerator can use: driver too old"),
        (1, "computed\n", HARD, "no adapter that the accelerator can use: computed"),
        (0, "computed\n", "", "the accelerator does not say which adapter it uses"),
    ],
)
def test_why_there_is_none(status: int, said: str, noise: str, reason: str) -> None:
    with pytest.raises(UnavailableDeviceError) as caught:
        read_answer(status, said, noise)
    assert str(caught.value).startswith(reason)


def test_one_that_computes_on_the_cpu_is_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ai_edge_litert")
    answer = list(read_answer(0, "computed\n", SOFT))  # as it is kept, in JSON
    with pytest.raises(UnavailableDeviceError) as caught:
        search.make(answer)
    assert str(caught.value) == (
        "the only adapter is llvmpipe (LLVM 15.0.6, 256 bits), which computes on the CPU "
        "(NNAPI_WEBGPU_SOFTWARE=1 uses it all the same)"
    )
    monkeypatch.setenv(SOFTWARE, "1")
    assert "llvmpipe" in search.make(answer).info.version


def test_it_is_asked_in_a_process_that_may_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: Any, **options: Any) -> None:
        assert command == [sys.executable, "-m", "nnapi.drivers.webgpu.probe"]
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UnavailableDeviceError) as caught:
        search.ask()
    assert str(caught.value) == "the accelerator said nothing for 30 s"
