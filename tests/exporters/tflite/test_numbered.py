"""The .tflite files that compilers of NPUs get."""

from nnapi.exporters.tflite.numbered import NumberedConversion
from nnapi.formats.tflite.reader import File, Subgraph
from tests.drivers.ethos_u.ethos_u_cases import build_network


def written(*numbers: int) -> Subgraph:
    return File(memoryview(NumberedConversion(build_network()).run().write(numbers))).subgraph(0)


def test_names_tell_the_operations() -> None:
    graph = written(0, 1, 2)
    made = [graph.tensors[index].name for operator in graph.operators for index in operator.outputs]
    assert made == sorted(made)
    assert set(made) == {"op0", "op1", "op2"}
    assert all(0 not in tensor.shape for tensor in graph.tensors)


def test_a_part_has_inputs_and_outputs_of_its_own() -> None:
    graph = written(0, 2)
    assert [operator.kind for operator in graph.operators] == ["ADD", "SOFTMAX"]
    assert len(graph.inputs) == 2
    assert [graph.tensors[index].name for index in graph.outputs] == ["op0", "op2"]
