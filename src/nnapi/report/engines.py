"""Engines that a benchmark runs a model file on. Imports little, so that measured memory is the engine's."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
File: TypeAlias = str | os.PathLike[str]
Run: TypeAlias = Callable[[Sequence[Array]], list[Array]]
"""One inference: takes an array per input, returns an array per output, both in the file's order."""
LONGEST = 240
"""Characters of an engine's error message that are printed."""


def find_version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


class UnsuitableError(Exception):
    """An engine cannot read a model."""


@dataclass(frozen=True)
class Opened:
    """A model that an engine has read.

    ``prepare`` compiles the model and returns that many runs, each for its own thread. After it, ``devices`` returns
    the devices that compute, if known.
    """

    prepare: Callable[[int], list[Run]]
    devices: Callable[[], list[str]] = list


@contextmanager
def _reading(*errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        raise UnsuitableError(_message(error)) from None


@dataclass(frozen=True)
class Nnapi:
    """The engine nnapi; ``devices`` and ``precision`` are those of ``nnapi.compile``, ``weights`` of ``load``.

    No times are measured if a device has a substitute here.
    """

    devices: tuple[str, ...] | None = None
    weights: Literal["dynamic-range"] | None = None
    precision: Any = None
    is_timed: bool = True

    @property
    def name(self) -> str:
        return " ".join(["nnapi", *(["+".join(self.devices)] if self.devices else []), *filter(None, [self.precision])])

    def version(self) -> str:
        return find_version("nnapi")

    def open(self, path: File, threads: int) -> Opened:
        from nnapi.compiling import compile
        from nnapi.importers import load
        from nnapi.runtime.settings import is_tuning, settings

        model = load(path, weights=self.weights)
        devices: list[str] = []

        def prepare(requests: int) -> list[Run]:
            with settings(tuning=is_tuning()):  # wait for the plan that later processes will use
                compilation = compile(model, self.devices, threads=threads, precision=self.precision)
            devices[:] = [device.name for device in compilation.devices]
            bursts = [compilation.burst() for _ in range(requests)]
            types = [model.operands[index].type.dtype for index in model.inputs]
            return [_take_list(burst.run, types) for burst in bursts]

        return Opened(prepare, lambda: devices)


def _take_list(run: Callable[..., list[Array]], types: Sequence[np.dtype[Any]]) -> Run:
    """Return a run on a list of inputs; 16-bit integers of an .onnx file become the int32 of its model. It converts the
    same list only once, so that conversions are not timed."""
    if np.dtype(np.int32) not in types:
        return lambda inputs: run(*inputs)
    given: Sequence[Array] = ()
    arrays: Sequence[Array] = ()

    def convert_and_run(inputs: Sequence[Array]) -> list[Array]:
        nonlocal given, arrays
        if inputs is not given:
            arrays = [
                array.astype(type, copy=False) if type == np.int32 and array.dtype.kind in "iu" else array
                for array, type in zip(inputs, types, strict=True)
            ]
            given = inputs
        return run(*arrays)

    return convert_and_run


@dataclass(frozen=True)
class LiteRT:
    """LiteRT's interpreter with its default settings, which include XNNPACK."""

    name: str = "litert"

    def version(self) -> str:
        import ai_edge_litert.interpreter  # noqa: F401  # tests whether it can be loaded

        return find_version("ai-edge-litert")

    def open(self, path: File, threads: int) -> Opened:
        from ai_edge_litert.interpreter import Interpreter

        if is_text(path):
            make = partial(Interpreter, os.fspath(path), num_threads=threads)
        else:
            with open(path, "rb") as file:
                make = partial(Interpreter, model_content=file.read(), num_threads=threads)
        with _reading(ValueError, RuntimeError):
            first = make()

        def prepare(requests: int) -> list[Run]:
            interpreters = [first, *(make() for _ in range(requests - 1))]  # each runs one inference at a time
            with _reading(ValueError, RuntimeError):
                for interpreter in interpreters:
                    interpreter.allocate_tensors()
            return [_litert_run(interpreter) for interpreter in interpreters]

        return Opened(prepare)


def is_text(path: File) -> bool:
    """Return whether a path is text in UTF-8. Names of files are bytes, but engines take only text."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _named_in_text(path: File) -> Iterator[str]:
    """Yield the path of a file, or that of a link to it if it is not text."""
    if is_text(path):
        yield os.fspath(path)
        return
    from tempfile import TemporaryDirectory  # on demand, as few names need it

    with TemporaryDirectory(prefix="nnapi-") as folder:
        link = os.path.join(folder, f"model{os.path.splitext(path)[1]}")
        os.symlink(os.path.abspath(path), link)
        yield link


def _litert_run(interpreter: Any) -> Run:
    details = interpreter.get_input_details()
    sources = [detail["index"] for detail in details]
    results = [detail["index"] for detail in interpreter.get_output_details()]

    def run(inputs: Sequence[Array]) -> list[Array]:
        for index, array in zip(sources, inputs, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in results]

    truths = [detail["dtype"] is np.bool_ for detail in details]
    last = [tuple(detail["shape"]) for detail in details]

    def convert_and_run(inputs: Sequence[Array]) -> list[Array]:
        nonlocal last
        shapes = [array.shape for array in inputs]
        if shapes != last:
            for index, shape in zip(sources, shapes, strict=True):
                interpreter.resize_tensor_input(index, shape)
            interpreter.allocate_tensors()
            last = shapes
        given = zip(inputs, truths, strict=True)
        return run([array.view(np.bool_) if is_truth else array for array, is_truth in given])

    is_dynamic = any(-1 in detail["shape_signature"] for detail in details)
    return convert_and_run if is_dynamic or any(truths) else run


@dataclass(frozen=True)
class OpenVINO:
    """OpenVINO's own file reader on the CPU, in float32, because its default bf16 gives other results."""

    name: str = "openvino"

    def version(self) -> str:
        _telemetry().import_openvino()
        return find_version("openvino")

    def open(self, path: File, threads: int) -> Opened:
        core = _openvino_core()
        with _named_in_text(path) as name, _reading(RuntimeError):
            model = core.read_model(name)
            shapes = {source: source.partial_shape for source in model.inputs}
            if any(shape.is_dynamic for shape in shapes.values()):  # as in LiteRT, dynamic dimensions become 1
                fixed = {each: [1 if d.is_dynamic else d for d in shape] for each, shape in shapes.items()}
                model.reshape(fixed)

        def prepare(requests: int) -> list[Run]:
            options = {
                "INFERENCE_PRECISION_HINT": "f32",
                "INFERENCE_NUM_THREADS": threads * requests,
                "NUM_STREAMS": requests,
                "PERFORMANCE_HINT": "LATENCY" if requests == 1 else "THROUGHPUT",
            }
            with _reading(RuntimeError):
                compiled = core.compile_model(model, "CPU", options)
                return [_openvino_run(compiled.create_infer_request(), len(compiled.outputs)) for _ in range(requests)]

        return Opened(prepare, lambda: ["CPU"])


@cache
def _telemetry() -> Any:
    """Load ``nnapi.host.without_telemetry`` without importing its package, which would count as memory. Without a
    specification of the module, tracebacks through it warn from Python 3.15 on."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "host", "without_telemetry.py")
    loader = SourceFileLoader("without_telemetry", path)
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None  # of a file
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@cache
def _openvino_core() -> Any:
    """Return the single core of the process; it loads the plug-ins of the devices."""
    return _telemetry().import_openvino().Core()


def _openvino_run(request: Any, count: int) -> Run:
    sources = [tensor.data for tensor in request.input_tensors]

    def run(inputs: Sequence[Array]) -> list[Array]:
        for target, array in zip(sources, inputs, strict=True):
            np.copyto(target, array.reshape(target.shape))
        request.infer()
        return [np.array(request.get_output_tensor(number).data) for number in range(count)]

    return run


ONNX_TYPES = {"tensor(int64)": np.int64, "tensor(double)": np.float64, "tensor(bool)": np.bool_}
"""NumPy's types for those input types of ONNX Runtime that NNAPI's models replace."""


@dataclass(frozen=True)
class OnnxRuntime:
    """ONNX Runtime on the file of the same name with the suffix .onnx, which must exist."""

    name: str = "onnxruntime"

    def version(self) -> str:
        _telemetry().import_onnxruntime()
        return find_version("onnxruntime")

    def open(self, path: File, threads: int) -> Opened:
        from pathlib import Path

        converted = Path(path).with_suffix(".onnx")
        if not converted.is_file():
            raise UnsuitableError(f"it reads ONNX, and {converted.name} does not exist beside the model")
        content = converted.read_bytes()

        def prepare(requests: int) -> list[Run]:
            onnxruntime = _telemetry().import_onnxruntime()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            with _reading(Exception):  # its errors have no common base class
                session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            return [_onnx_run(session) for _ in range(requests)]  # a session may run in any number of threads at once

        return Opened(prepare, lambda: ["CPU"])


def _onnx_run(session: Any) -> Run:
    """Return a run of a session. It converts the same arrays only once, so that conversions are not timed."""
    sources = session.get_inputs()
    given: Sequence[Array] = ()
    feeds: dict[str, Array] = {}

    def run(inputs: Sequence[Array]) -> list[Array]:
        nonlocal given, feeds
        if inputs is not given:
            feeds = {source.name: _convert_input(source, array) for source, array in zip(sources, inputs, strict=True)}
            given = inputs
        return [np.asarray(array) for array in session.run(None, feeds)]

    return run


def _convert_input(source: Any, array: Array) -> Array:
    """Return an array with the type and rank of an input of ONNX Runtime."""
    array = array.astype(ONNX_TYPES.get(source.type, array.dtype), copy=False)
    return array if len(source.shape) == array.ndim else array.reshape(source.shape)


def _message(error: Exception) -> str:
    """Return the last line of an engine's message, which names the cause, shortened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1] if len(lines[-1]) <= LONGEST else f"{lines[-1][:LONGEST]}…"


Engine: TypeAlias = Nnapi | LiteRT | OpenVINO | OnnxRuntime
"""An engine: reads and runs model files. Nothing is imported before ``version``, which raises ImportError if it is not
installed, or ``open``, which raises UnsuitableError if the engine cannot read the file."""
OTHERS: dict[str, Engine] = {engine.name: engine for engine in (LiteRT(), OpenVINO(), OnnxRuntime())}


def describe(engine: Engine) -> str:
    """Return an engine as text, from which :func:`revive` makes it in another process."""
    return json.dumps(asdict(engine) if isinstance(engine, Nnapi) else engine.name)


def revive(text: str) -> Engine:
    """Return the engine that :func:`describe` described as text."""
    values = json.loads(text)
    if isinstance(values, str):
        return OTHERS[values]
    return Nnapi(**{**values, "devices": values["devices"] and tuple(values["devices"])})


def save(file: File, arrays: Sequence[Array]) -> None:
    """Write arrays to one file; not as .npz, which would import archive modules into the measured process."""
    with open(file, "wb") as out:
        for array in arrays:
            np.save(out, array)


def load_saved(file: File) -> list[Array]:
    arrays = []
    with open(file, "rb") as content:
        while content.tell() < os.fstat(content.fileno()).st_size:
            arrays.append(np.load(content))
    return arrays


def peak_bytes() -> int:
    """Return the peak memory of this process since its start, in bytes."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return 1024 * int(lines["VmHWM"].split()[0])


def command(engine: Engine, model: File, inputs: File, threads: int) -> list[str]:
    """Return the command that runs :func:`main` in a separate process."""
    # Running it as a script would compile it, which takes a megabyte; its full name would import the package.
    start = "import sys; sys.path.append(sys.argv[1]); from engines import main; main(*sys.argv[2:])"
    files = os.fspath(model), os.fspath(inputs)
    return [sys.executable, "-P", "-c", start, os.path.dirname(__file__), describe(engine), *files, str(threads)]


def main(engine: str, model: str, inputs: str, threads: str) -> None:
    """Run the model once, and print the peak memory or the reason of a failure as JSON."""
    arrays = load_saved(inputs)
    try:
        (run,) = revive(engine).open(model, int(threads)).prepare(1)
        run(arrays)
    except Exception as error:
        print(json.dumps({"reason": _message(error)}))
    else:
        print(json.dumps({"peak": peak_bytes()}))
