"""The trace that ``enable_profiling`` asks for."""

from __future__ import annotations

import json
import time

from nnapi import trace
from nnapi.errors import BadStateError
from nnapi.onnx.failures import Fail


class Profile:
    """Record every call of the process until :meth:`end`."""

    def __init__(self, prefix: str) -> None:
        """Start recording; raise Fail while another trace is being recorded."""
        try:
            trace.start()
        except BadStateError as error:
            raise Fail(f"enable_profiling: {error}") from error
        self._prefix = prefix
        self.start_ns = time.monotonic_ns()

    def end(self) -> str:
        """Stop, write the events as a JSON list in Chrome's format, one per line, and return the file's name."""
        from nnapi.trace.chrome import to_chrome  # which few sessions need

        path = f"{self._prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{self.start_ns}.json"
        events = [event for event in to_chrome(trace.stop())["traceEvents"] if event["ph"] == "X"]
        with open(path, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(event, ensure_ascii=False) for event in events) + "\n]\n")
        return path
