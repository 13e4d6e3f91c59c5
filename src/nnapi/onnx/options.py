"""What a program asks of a session: what has a meaning here is heeded, the rest is taken without effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class GraphOptimizationLevel(IntEnum):
    """How far ONNX Runtime rewrites a graph; without effect here."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Whether ONNX Runtime runs nodes beside each other; without effect here."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


@dataclass(slots=True)
class SessionOptions:
    """``intra_op_num_threads`` is how many threads a run may use, 0 for as many as the library likes."""

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
    entries: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, int] = field(default_factory=dict)
    """Sizes of dimensions, by the names that files give them."""

    def add_session_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        return self.entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix the dimensions to which a file gives this name."""
        self.dimensions[name] = size


@dataclass(slots=True)
class RunOptions:
    """Of one run; without effect here."""

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
