"""Compile ONNX graphs with Qualcomm's compiler, through ONNX Runtime."""

import os
import re
from functools import cache
from typing import Any, NamedTuple

import onnxruntime
import onnxruntime_qnn

from nnapi.drivers.qualcomm.chips import Chip
from nnapi.host.engine_output import Output, collect_output
from nnapi.store.temporary import temporary_folder

PROVIDER = "QNNExecutionProvider"
VERBOSE, ERRORS = 0, 3
PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")


class CompiledContext(NamedTuple):
    """The context model, which has the compiled graph inside, empty after a failure. ``log`` is verbose."""

    context: bytes
    failure: str
    log: str


def compile_onnx(content: bytes, chip: Chip) -> CompiledContext:
    """Compile a file for a chip. It fails unless the compiler takes every node."""
    output, failure, context = Output(), "", b""
    with temporary_folder() as folder:
        path = os.path.join(folder, "context.onnx")
        options = _make_options(chip, VERBOSE)
        options.add_session_config_entry("ep.context_enable", "1")
        options.add_session_config_entry("ep.context_file_path", path)
        options.add_session_config_entry("ep.context_embed_mode", "1")
        with collect_output(output):
            try:
                onnxruntime.InferenceSession(content, options)
            except Exception as error:  # of ONNX Runtime, whose classes have no public base
                failure = PREFIX.sub("", str(error).splitlines()[0])
        if not failure:
            with open(path, "rb") as file:
                context = file.read()
    return CompiledContext(context, failure, output.text)


def open_context(content: bytes, chip: Chip) -> Any:
    """Return a session of a context model."""
    with collect_output(Output()):
        return onnxruntime.InferenceSession(content, _make_options(chip, ERRORS))


def _make_options(chip: Chip, severity: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = severity
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    settings = {
        "backend_path": onnxruntime_qnn.get_qnn_htp_path(),
        "soc_model": str(chip.number),
        "htp_arch": str(chip.htp),
        "enable_htp_fp16_precision": "1",
        "offload_graph_io_quantization": "0",
    }
    options.add_provider_for_devices([_find_device()], settings)
    return options


@cache
def _find_device() -> Any:
    with collect_output(Output()):
        onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
        return next(device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER)
