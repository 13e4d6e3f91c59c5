"""Graphs of .tflite files with resource variables."""

from collections.abc import Sequence

from tests.tflite_writer import Graph, T, const, f32


def handle(name: str, container: str = "") -> T:
    """The handle of a variable; the tensor's name is the variable's, and the container's if there is one."""
    return T("RESOURCE", (), name=f"{container}|{name}")


def _open(graph: Graph, variable: T) -> None:
    if any(known is variable for known in graph.tensors):
        return
    container, _, name = variable.name.partition("|")
    graph.operator("VAR_HANDLE", [], [variable], "VarHandleOptions", SharedName=name, Container=container or None)


def read(graph: Graph, variable: T, value: T) -> Graph:
    _open(graph, variable)
    return graph.operator("READ_VARIABLE", [variable], [value], "ReadVariableOptions")


def assign(graph: Graph, variable: T, value: T) -> Graph:
    _open(graph, variable)
    return graph.operator("ASSIGN_VARIABLE", [variable, value], [], "AssignVariableOptions")


def initial(name: str, values: Sequence[float], container: str = "") -> Graph:
    """A subgraph for CALL_ONCE."""
    return assign(Graph(), handle(name, container), const(values, "FLOAT32")).between([], [])


def running_sum(start: float = 0, name: str = "total") -> tuple[Graph, Graph]:
    """A graph that adds its input to a variable and returns the sum, and the graph that initializes the variable."""
    x, y, before = f32(2), f32(2), f32(2)
    graph, variable = Graph(), handle(name)
    graph.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    read(graph, variable, before).operator("ADD", [before, x], [y], "AddOptions")
    assign(graph, variable, y)
    return graph.between([x], [y]), initial(name, [start, start])
