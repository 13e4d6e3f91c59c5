"""Options of sessions and runs. Options that have no meaning for nnapi have no effect."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from nnapi.onnx.ort_value import OrtValue


class GraphOptimizationLevel(IntEnum):
    """Optimization levels of ONNX Runtime, without effect."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Execution modes of ONNX Runtime, without effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


@dataclass(slots=True)
class SessionOptions:
    """Options of a session. ``intra_op_num_threads`` is the number of threads of a run; by 0 nnapi chooses."""

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_cpu_mem_arena: bool = True
    use_deterministic_compute: bool = False
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    use_per_session_threads: bool = True
    enable_profiling: bool = False
    """Whether the session records a trace, which ``end_profiling`` writes."""
    profile_file_prefix: str = "onnxruntime_profile_"
    optimized_model_filepath: str = ""
    """The path of an .onnx file to which the session writes the imported model."""
    entries: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, int] = field(default_factory=dict)
    """Sizes of dynamic dimensions by their names in the file."""
    denotations: dict[str, int] = field(default_factory=dict)
    """Sizes of dynamic dimensions by their denotations in the file."""
    initializers: dict[str, OrtValue] = field(default_factory=dict)

    def add_session_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        return _find_entry(self.entries, key, "SessionOptions")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self.dimensions[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        self.denotations[denotation] = size

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Replace a constant of the file; the file then need not contain its value."""
        self.initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None:
        """Replace several constants."""
        self.initializers.update(zip(names, values, strict=True))


STORED: dict[str, type] = {
    "intra_op_num_threads": int,
    "inter_op_num_threads": int,
    "execution_mode": ExecutionMode,
    "graph_optimization_level": GraphOptimizationLevel,
    "enable_profiling": bool,
}


def read_stored_options(config: str) -> SessionOptions:
    """Read the options in a model's ``ort_config``, a JSON text; raise RuntimeError if a value is invalid."""
    options = SessionOptions()
    try:
        stored = json.loads(config).get("session_options", {})
        for name in STORED.keys() & stored.keys():
            value = stored[name]
            if type(value) is not int or value < 0:
                raise ValueError(f"{name} is {value!r}, not a number from zero")
            setattr(options, name, STORED[name](value))
    except (ValueError, AttributeError, RecursionError) as error:
        raise RuntimeError(f"the options stored in the model cannot be read: {error}") from error
    return options


@dataclass(slots=True)
class RunOptions:
    """Options of a run; they have no effect."""

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    entries: dict[str, str] = field(default_factory=dict)

    def add_run_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return _find_entry(self.entries, key, "RunOptions")


def set_default_logger_severity(severity: int) -> None:
    """Do nothing, because nnapi logs by Python's ``logging``."""


def _find_entry(entries: dict[str, str], key: str, who: str) -> str:
    """Return an entry; raise RuntimeError with ONNX Runtime's message if it does not exist."""
    if key not in entries:
        raise RuntimeError(f"{who} does not have configuration with key: {key}")
    return entries[key]
