"""The names of sections."""

import pytest

from nnapi.trace.labels import Label, Layer, Phase, parse_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[NN_LA_PE]runInference", Label(Layer.APPLICATION, Phase.EXECUTION, "runInference")),
        ("[SW][NN_LC_PCO]conv", Label(Layer.CPU, Phase.COMPUTATION, "conv", is_switch=True)),
        ("[SUB][NN_LR_PC]prepare", Label(Layer.RUNTIME, Phase.COMPILATION, "prepare", is_subtracted=True)),
        ("[NN_LA_PO]", Label(Layer.APPLICATION, Phase.OVERALL, "")),
        ("Choreographer#doFrame", Label(Layer.IGNORED, Phase.UNSPECIFIED, "Choreographer#doFrame")),
    ],
)
def test_parts(text: str, label: Label) -> None:
    found = parse_label(text)
    if label.layer is Layer.IGNORED:
        assert found.layer is Layer.IGNORED
    else:
        assert found == label
    assert str(found) == text


@pytest.mark.parametrize("text", ["[NN_LZ_PE]x", "[NN_LA_PZ]x", "[NN_LDV_PC]x", "NN_LA_PE x", "[NN_LA_PE"])
def test_what_does_not_exist_is_ignored(text: str) -> None:
    assert parse_label(text).layer is Layer.IGNORED
    assert parse_label(text).name == text


@pytest.mark.parametrize(
    ("text", "layer", "phase"),
    [
        ("HIDL::IDevice::getCapabilities::client", Layer.IPC, Phase.INITIALIZATION),
        ("HIDL::IDevice::getCapabilities_1_1::server", Layer.DRIVER, Phase.INITIALIZATION),
        ("HIDL::IDevice::prepareModel_1_1::server", Layer.DRIVER, Phase.COMPILATION),
        ("HIDL::IDevice::getSupportedOperations::client", Layer.IPC, Phase.COMPILATION),
        ("HIDL::IPreparedModel::execute::server", Layer.DRIVER, Phase.EXECUTION),
        ("HIDL::IPreparedModelCallback::notify::server", Layer.IGNORED, Phase.COMPILATION),
        ("HIDL::IExecutionCallback::notify::client", Layer.IGNORED, Phase.EXECUTION),
        ("HIDL::IAllocator::allocate::client", Layer.IPC, Phase.UNSPECIFIED),
        ("HIDL::IMapper::importBuffer::passthrough", Layer.IPC, Phase.INITIALIZATION),
    ],
)
def test_stubs(text: str, layer: Layer, phase: Phase) -> None:
    label = parse_label(text)
    assert (label.layer, label.phase, label.name) == (layer, phase, text)


def test_early_mistakes_are_corrected() -> None:
    assert parse_label("[NN_LR_PT]ANeuralNetworksExecution_free").phase is Phase.EXECUTION
    assert parse_label("[NN_LR_PT]ANeuralNetworksEvent_free").phase is Phase.EXECUTION
    assert parse_label("[NN_LR_PT]ANeuralNetworksModel_free").phase is Phase.TERMINATION
    assert parse_label("[NN_LI_PC]getSupportedExtensions").phase is Phase.INITIALIZATION
    assert not parse_label("[SW][NN_LA_PR]executeWithCompilation").is_switch
