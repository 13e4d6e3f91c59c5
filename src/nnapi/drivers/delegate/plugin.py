"""A delegate's library: it makes delegates, reports their errors, and applies them to interpreters."""

import ctypes
import hashlib
import os
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert.interpreter import Delegate, Interpreter, OpResolverType

from nnapi.drivers.delegate.remaining_nodes import WatchedDelegate
from nnapi.errors import OpFailedError, UnavailableDeviceError, need
from nnapi.host.engine_output import Output, choose_line, collect_output

FUNCTIONS = "tflite_plugin_create_delegate", "tflite_plugin_destroy_delegate"
STABLE = "TFL_TheStableDelegate"
"""The symbol of libraries with the stable delegate API, which LiteRT's Python interpreter does not load."""
KNOWN = 1024
"""Maximum number of graphs whose remaining nodes are cached."""
LOST_LIBRARY = re.compile(r"^(\S+): cannot open shared object file: No such file")
LOST_SYMBOL = re.compile(r"undefined symbol: (\S+)")


class _Loaded(Delegate):  # type: ignore[misc]  # LiteRT has no types
    """LiteRT's Delegate, with a destructor that does nothing if the library made no delegate."""

    def __del__(self) -> None:
        if getattr(self, "_delegate_ptr", None):
            super().__del__()


class Opened(NamedTuple):
    """An interpreter with the delegate applied, the nodes that it did not claim, and its output."""

    interpreter: Interpreter
    left: Sequence[int]
    said: str


class Plugin:
    """A delegate's library and options. Most libraries are not thread-safe, so each use holds the lock ``turn``."""

    def __init__(self, library: str, options: Mapping[str, str]) -> None:
        """Load the library; raise UnavailableDeviceError, with the reason, if it makes no delegate."""
        self.name, self._library, self._options = os.path.basename(library), library, dict(options)
        self.turn = threading.RLock()
        self._known: OrderedDict[bytes, tuple[Sequence[int], str]] = OrderedDict()
        with collect_output(Output()):
            _check_library(library)
        self._make()

    def ask(self, content: bytes) -> tuple[Sequence[int], str]:
        """Return the nodes of a graph that the delegate does not claim, and its output; cached by graph."""
        digest = hashlib.sha256(content).digest()
        with self.turn:
            answer = self._known.get(digest)
            if answer is None:
                opened = self.open(content)
                answer = self._known[digest] = opened.left, opened.said
                if len(self._known) > KNOWN:
                    self._known.popitem(last=False)
        return answer

    def open(self, content: bytes) -> Opened:
        """Apply a new delegate to a graph, and allocate tensors if it claims all nodes; OpFailedError if that fails."""
        output, failure = Output(), ""
        with self.turn:
            watched = self._make()
            try:
                with collect_output(output):
                    interpreter, left = _apply(watched, content)
            except (RuntimeError, ValueError) as error:
                failure, *_ = str(error).strip().splitlines() or ["it does not say why"]
        if failure:
            raise OpFailedError(f"{self.name} fails: {choose_line(output.lines, failure)}")
        need(watched.left is not None, f"{self.name} was not asked by LiteRT", OpFailedError)
        return Opened(interpreter, left, choose_line(output.lines))

    def _make(self) -> WatchedDelegate:
        """Make a delegate; raise UnavailableDeviceError, with the library's message, if that fails."""
        output = Output()
        try:
            with self.turn, collect_output(output):
                return WatchedDelegate(_Loaded(self._library, self._options))
        except ValueError as error:
            said = " ".join(str(error).split()) or choose_line(output.lines)
        given = f" with {', '.join(f'{k}={v}' for k, v in self._options.items())}" if self._options else ""
        raise UnavailableDeviceError(f"{self.name} gives no delegate{given}: {said or 'it does not say why'}")


def _apply(watched: WatchedDelegate, content: bytes) -> tuple[Interpreter, Sequence[int]]:
    """Return an interpreter of the graph with a delegate applied, and the nodes that it did not claim."""
    interpreter = Interpreter(
        model_content=content,
        num_threads=1,
        experimental_delegates=[watched],
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    native: Any = interpreter._interpreter
    # views of its memory keep the native interpreter alive, and its end calls the delegate
    weakref.finalize(native, _release, watched).atexit = False
    left = [node for node in watched.left or () if not _is_conversion(native, node)]
    if not left:
        native.AllocateTensors()  # Interpreter.allocate_tensors raises while ``native`` refers to it
    return interpreter, left


def _check_library(library: str) -> None:
    """Raise UnavailableDeviceError if a library cannot be loaded or does not export a delegate."""
    name = os.path.basename(library)
    need(os.path.isfile(library), f"there is no file {library}", UnavailableDeviceError)
    try:
        loaded = ctypes.PyDLL(library)
    except OSError as error:
        raise UnavailableDeviceError(explain_loading(name, str(error))) from None
    missing = [function for function in FUNCTIONS if not hasattr(loaded, function)]
    if missing:
        newer = f", but {STABLE}, which LiteRT's interpreter does not load" if hasattr(loaded, STABLE) else ""
        raise UnavailableDeviceError(f"{name} is not an external delegate: it has no {' or '.join(missing)}{newer}")


def explain_loading(name: str, error: str) -> str:
    """Turn the dynamic linker's error for a library into an explanation."""
    if found := LOST_LIBRARY.match(error):
        return f"{name} needs {found[1]}, which is not found"
    if found := LOST_SYMBOL.search(error):
        return f"{name} needs the symbol {found[1]}, which no library gives it"
    return f"{name} cannot be loaded: {error}"


def _is_conversion(native: Any, node: int) -> bool:
    """Return whether a node is a CAST from or to float16."""
    ends = [*native.NodeInputs(node), *native.NodeOutputs(node)]
    return native.NodeName(node) == "CAST" and any(native.TensorType(int(end), 0) == np.float16 for end in ends)


def _release(watched: WatchedDelegate) -> None:
    """Do nothing. A finalizer that calls this keeps its argument alive."""
