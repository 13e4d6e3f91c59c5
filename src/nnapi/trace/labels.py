"""Layer and phase in a section's name: ``[NN_LR_PE]ANeuralNetworksExecution_compute`` executes in the runtime."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class Layer(StrEnum):
    """The layer that spends the time; members go from top to bottom."""

    APPLICATION = "LA"
    RUNTIME = "LR"
    IPC = "LI"
    DRIVER = "LD"
    CPU = "LC"
    UTILITY = "LU"
    """Code that several layers call; its time counts for the caller."""
    OTHER = "LO"
    IGNORED = "LX"
    """Sections that do not belong to NNAPI."""


class Phase(StrEnum):
    OVERALL = "PO"
    """A run of the application, for example one case of a benchmark."""
    WARM_UP = "PWU"
    """Executions before the measured ones."""
    BENCHMARK = "PBM"
    INITIALIZATION = "PI"
    """Work that is done once and belongs to no model."""
    PREPARATION = "PP"
    """Describing a model."""
    COMPILATION = "PC"
    EXECUTION = "PE"
    INPUTS_AND_OUTPUTS = "PIO"
    """Within an execution: setting inputs and outputs, allocating buffers."""
    TRANSFORMATION = "PTR"
    """Within an execution: converting data to the layout and type that the computation needs."""
    COMPUTATION = "PCO"
    """Within an execution: computing operations' outputs."""
    RESULTS = "PR"
    """Within an execution: reading results."""
    TERMINATION = "PT"
    UNSPECIFIED = "PU"
    """The phase of the enclosing section."""


LAYERS = (Layer.APPLICATION, Layer.RUNTIME, Layer.IPC, Layer.DRIVER, Layer.CPU)

PHASES = (Phase.INITIALIZATION, Phase.PREPARATION, Phase.COMPILATION, Phase.EXECUTION, Phase.TERMINATION)

EXECUTION_PHASES = (Phase.INPUTS_AND_OUTPUTS, Phase.TRANSFORMATION, Phase.COMPUTATION, Phase.RESULTS)

SUBPHASES: dict[Phase, tuple[Phase, ...]] = {
    Phase.OVERALL: (Phase.WARM_UP, Phase.BENCHMARK, *PHASES),
    Phase.WARM_UP: (Phase.EXECUTION,),
    Phase.BENCHMARK: (Phase.EXECUTION,),
    Phase.EXECUTION: EXECUTION_PHASES,
}
"""The phases whose sections may be nested in a phase's and count for it."""


class Label(NamedTuple):
    layer: Layer
    phase: Phase
    name: str
    is_switch: bool = False
    """From here on, the enclosing section counts for this layer and phase."""
    is_subtracted: bool = False
    """The section should not be nested in the enclosing one, so its time is subtracted from that."""

    def __str__(self) -> str:
        if self.layer is Layer.IGNORED:
            return self.name
        marker = "[SW]" if self.is_switch else "[SUB]" if self.is_subtracted else ""
        return f"{marker}[NN_{self.layer}_{self.phase}]{self.name}"


NNAPI_NAME = r"(?s)(?P<markers>.*)\[NN_(?P<layer>L[A-Z]+)_(?P<phase>P[A-Z]+)\](?P<name>.*)"


@lru_cache(maxsize=4096)
def parse_label(text: str) -> Label:
    """Return the label of a section's name, Android's driver stubs included; IGNORED if layer or phase is unknown."""
    match = re.fullmatch(NNAPI_NAME, _correct(text))
    if match is None:
        return Label(_stub_layer(text), _stub_phase(text), text)
    try:
        layer, phase = Layer(match["layer"]), Phase(match["phase"])
    except ValueError:
        return Label(Layer.IGNORED, Phase.UNSPECIFIED, text)
    name = match["name"].strip("[]")
    return Label(layer, phase, name, "[SW]" in match["markers"], "[SUB]" in match["markers"])


def _correct(text: str) -> str:
    """Correct the wrong marks of early Android versions."""
    if "ANeuralNetworksEvent_free" in text or "ANeuralNetworksExecution_free" in text:
        return text.replace("_PT]", "_PE]")
    if "getSupportedExtensions" in text:
        return text.replace("_PC]", "_PI]")
    if "[SW][NN_LA_PR]executeWithCompilation" in text:
        return text.replace("[SW]", "")
    return text


def _stub_layer(text: str) -> Layer:
    """Return the layer of a section of Android's generated driver stubs."""
    side = text.rpartition("::")[2]
    if side in ("client", "server") and "notify" in text:
        return Layer.IGNORED  # a callback of the driver; the call to the driver includes its time
    if side in ("client", "passthrough"):
        return Layer.IPC
    if side == "server" or "getCapabilities" in text or "getSupportedOperations" in text:
        return Layer.DRIVER
    return Layer.IGNORED


def _stub_phase(text: str) -> Phase:
    if "IAllocator" in text:
        return Phase.UNSPECIFIED  # both preparations and executions allocate
    if "getCapabilities" in text:
        return Phase.INITIALIZATION
    if any(word in text for word in ("prepareModel", "getSupportedOperations", "IPreparedModelCallback")):
        return Phase.COMPILATION
    if "execute" in text or "IExecutionCallback" in text:
        return Phase.EXECUTION
    return Phase.INITIALIZATION
