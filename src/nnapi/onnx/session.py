"""ONNX Runtime's session, running on nnapi's devices."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from nnapi import trace
from nnapi.compiling import compile
from nnapi.errors import BadDataError, BadStateError, NnapiError
from nnapi.model.dynamic_model import explain_imports
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.onnx.arguments import Input, Output
from nnapi.onnx.failures import BranchNotImplemented, Fail, InvalidArgument
from nnapi.onnx.io_binding import IOBinding
from nnapi.onnx.options import RunOptions, SessionOptions, read_stored_options
from nnapi.onnx.ort_value import OrtMemoryInfo, OrtValue
from nnapi.onnx.providers import choose, list_unknown
from nnapi.onnx.session_file import ModelMetadata, NodeArg, SessionFile, is_static
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.dynamic_compilation import compile_padded
from nnapi.runtime.specializations import Specializations
from nnapi.runtime.thread_counts import read_threads
from nnapi.store.files import write_text

MOST_CHOICES = 8
"""Number of choices of branches whose compilations are cached, the most recent ones."""


class InferenceSession:
    """An ONNX model. It is compiled at once if its shapes are static, otherwise for the shapes of each run.

    Several threads may run it.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Any]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
        dynamic: Literal["bucket"] | None = None,
        read_config_from_model: int | None = None,
        disabled_optimizers: Iterable[str] | None = None,
        enable_fallback: int = 1,
    ) -> None:
        """``providers`` are names of nnapi's devices, or ONNX Runtime's names of engines. ``cache`` and ``dynamic`` are
        those of :func:`nnapi.compile`. With ``read_config_from_model=1``, the options that a model stores replace
        ``sess_options``; by default ORT_LOAD_CONFIG_FROM_MODEL decides. ``provider_options``, ``disabled_optimizers``
        and ``enable_fallback`` have no effect."""
        self._options = sess_options or SessionOptions()
        self._providers, devices = choose(providers)
        self._file = SessionFile(path_or_bytes, self._options)
        stored = self._file.metadata.custom_metadata_map.get("ort_config")
        if read_config_from_model is None:
            read_config_from_model = os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL") == "1"
        if stored and int(read_config_from_model) == 1:
            self._options = read_stored_options(stored)
        try:
            read_threads(self._options.intra_op_num_threads or None, "intra_op_num_threads")
        except BadDataError as error:
            raise InvalidArgument(str(error)) from error
        self._inputs = [Input(argument) for argument in self._file.inputs]
        self._names = {each.name for each in self._inputs}
        maps, texts = self._file.maps, self._file.texts
        self._outputs = [Output(each, maps.get(each.name), texts.get(each.name)) for each in self._file.outputs]
        declared = tuple(shape_of(argument) for argument in self._file.inputs)
        self._compiler = _Compiler(self._file, self._options, devices, cache)
        bucketed = declared if dynamic == "bucket" else None
        padded = partial(compile_padded, self._file.describe_padded, self._compiler.compile_model)
        self._specializations = Specializations(self._compiler.compile, bucketed, padded, self._file.describe_sized)
        self._chosen: dict[tuple[int, ...], Specializations] | None = None
        """The compilations by the values that choose branches; None while the file needs no values to be expressed."""
        if all(is_static(argument) for argument in self._file.inputs):
            try:
                self._specializations.at(declared)
            except BranchNotImplemented:
                self._chosen = {}
            except NnapiError as error:
                raise Fail(str(error)) from error
        if self._options.optimized_model_filepath:
            self._file.write(self._options)
        self._profile = Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None

    def get_inputs(self) -> list[NodeArg]:
        return list(self._file.inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._file.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return the constants that the file also lists as inputs; runs cannot override them."""
        return list(self._file.overridable)

    def get_modelmeta(self) -> ModelMetadata:
        return self._file.metadata

    def get_providers(self) -> list[str]:
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Return an empty dictionary for each provider, by name."""
        return {name: {} for name in self._providers}

    def set_providers(
        self, providers: Sequence[str | tuple[str, Any]], provider_options: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Compile for other devices; if a provider does not exist, raise RuntimeError and change nothing."""
        unknown = list_unknown(providers)
        if unknown:
            raise RuntimeError(f"Unknown Provider Type: {', '.join(unknown)}")
        self._providers, self._compiler.devices = choose(providers)
        self._specializations.clear()
        if self._chosen is not None:
            self._chosen = {}

    def get_session_options(self) -> SessionOptions:
        return self._options

    def disable_fallback(self) -> None:
        """Do nothing: a failing run raises an exception, and no other provider repeats it."""

    def enable_fallback(self) -> None:
        """Do nothing, like :meth:`disable_fallback`."""

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._file.inputs]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo() for _ in self._file.outputs]

    def get_profiling_start_time_ns(self) -> int:
        """Return the start of profiling in nanoseconds of the monotonic clock; 0 without profiling."""
        return self._profile.start_ns if self._profile else 0

    def end_profiling(self) -> str:
        """Write the trace to a file and return the file's name; "" without profiling."""
        profile, self._profile = self._profile, None
        return profile.end() if profile else ""

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        iobinding.run()

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """Return the named outputs, by default all: arrays, and a list of dictionaries for the maps of a ZipMap.

        Raises InvalidArgument for wrong inputs, ValueError if inputs are missing.
        """
        wanted = self._positions(output_names)
        arrays = self._read(input_feed)
        try:
            results = self._run(arrays)
        except NnapiError as error:
            raise Fail(str(error)) from error
        return [self._outputs[position].describe(results[position]) for position in wanted]

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Run on OrtValues, like :meth:`run`."""
        return [OrtValue(np.asarray(each)) for each in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[Any],
    ) -> None:
        """Run on ``feeds``; put the named outputs, in host memory, into ``fetches``."""
        feed = dict(zip(feed_names, feeds, strict=True))
        fetches[:] = self.run_with_ort_values(fetch_names, feed, run_options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Sequence[Array], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run on a new thread, which calls ``callback`` with the outputs, ``user_data`` and an error message or ""."""
        self._positions(output_names)
        self._read(input_feed)

        def run() -> None:
            try:
                results, failure = self.run(output_names, input_feed, run_options), ""
            except Exception as error:
                results, failure = [], str(error) or type(error).__name__
            callback(results, user_data, failure)

        threading.Thread(target=run, name="nnapi.onnx run_async").start()

    def explain(self) -> str:
        """Return the device of each operation with reasons, for each combination of shapes that has run."""
        chosen = list(self._chosen.values()) if self._chosen else []
        found = "\n\n".join(filter(None, (each.explain() for each in (self._specializations, *chosen))))
        return found + explain_imports(self._file.reimports)

    def _run(self, arrays: list[Array]) -> list[Array]:
        if self._chosen is None:
            try:
                return self._specializations.run(arrays)
            except BranchNotImplemented:
                self._chosen = {}
        return self._choose_branches(self._chosen, arrays).run(arrays)

    def _choose_branches(
        self, chosen: dict[tuple[int, ...], Specializations], arrays: Sequence[Array]
    ) -> Specializations:
        """Return the compilations for these inputs' values, without the branches that the values rule out."""
        values = tuple(int(arrays[i].reshape(())) for i in self._file.choices)
        found = chosen.get(values)
        if found is None:
            found = chosen.setdefault(values, Specializations(partial(self._compiler.compile, values=values)))
            for oldest in list(chosen)[:-MOST_CHOICES]:
                chosen.pop(oldest, None)
        return found

    def _positions(self, names: Sequence[str] | None) -> Sequence[int]:
        if not names:
            return range(len(self._outputs))
        known = [argument.name for argument in self._file.outputs]
        for name in names:
            if name not in known:
                raise InvalidArgument(f"there is no output {name!r}; there are {', '.join(known)}")
        return [known.index(name) for name in names]

    def _read(self, feed: Mapping[str, Any]) -> list[Array]:
        """Return the inputs as NNAPI stores them."""
        if feed.keys() != self._names:
            missing = [each.name for each in self._inputs if each.name not in feed]
            if missing:
                raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)})")
            unknown = set(feed) - self._names
            raise InvalidArgument(f"there is no input {', '.join(sorted(unknown))}")
        return [each.read(feed[each.name]) for each in self._inputs]


class _Compiler:
    """Compiles a session's file. The session keeps functions that call it, so it does not refer to the session."""

    def __init__(
        self,
        file: SessionFile,
        options: SessionOptions,
        devices: list[str] | None,
        cache: str | os.PathLike[str] | None,
    ) -> None:
        self._file, self._options, self._cache = file, options, cache
        self.devices = devices

    def compile(
        self, shapes: tuple[Shape, ...], device: str | None, is_cached: bool, values: Sequence[int] = ()
    ) -> Compilation:
        return self.compile_model(self._file.model(shapes, values, is_cached=is_cached), device)

    def compile_model(self, model: Model, device: str | None) -> Compilation:
        threads = self._options.intra_op_num_threads or None
        return compile(model, device or self.devices, threads=threads, cache=self._cache)


class Profile:
    """Record all calls of the process until :meth:`end`."""

    def __init__(self, prefix: str) -> None:
        """Start recording; raise Fail if another trace is being recorded."""
        try:
            trace.start()
        except BadStateError as error:
            raise Fail(f"enable_profiling: {error}") from error
        self._prefix = prefix
        self.start_ns = time.monotonic_ns()

    def end(self) -> str:
        """Stop; write the events as a JSON list in Chrome's format, one per line; return the file's name."""
        from nnapi.trace.chrome import to_chrome  # on demand: few sessions need it

        path = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{self.start_ns}.json"
        events = [event for event in to_chrome(trace.stop())["traceEvents"] if event["ph"] == "X"]
        write_text(path, "[\n" + ",\n".join(json.dumps(event, ensure_ascii=False) for event in events) + "\n]\n")
        return path


def shape_of(argument: NodeArg) -> Shape:
    """Return an argument's shape in NNAPI: 0 for dynamic dimensions, one element for a scalar."""
    return tuple(size if isinstance(size, int) else 0 for size in argument.shape) or (1,)
