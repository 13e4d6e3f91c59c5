"""Resource variables: CALL_ONCE, VAR_HANDLE, READ_VARIABLE and ASSIGN_VARIABLE."""

from nnapi.formats.tflite.reader import list_subgraphs
from nnapi.importers.graph import Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.node import TfliteNode, is_alike
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.variables import Handle, name_variable


@rule("CALL_ONCE")
def call_once(node: TfliteNode) -> None:
    (index,) = list_subgraphs(node.operator)
    node.scope.initialize(index)


@rule("VAR_HANDLE")
def var_handle(node: TfliteNode) -> None:
    node.bind(0, Handle(name_variable(node.operator)))


@rule("READ_VARIABLE")
def read_variable(node: TfliteNode) -> None:
    name = _variable(node)
    value = node.scope.variables.read(name)
    _need_type(name, "read", value, node.output)
    node.bind(0, value)


@rule("ASSIGN_VARIABLE")
def assign_variable(node: TfliteNode) -> None:
    """Lower ASSIGN_VARIABLE. LiteRT may change a variable's type or shape, a state of a model keeps them."""
    name, value = _variable(node), node.input(1)
    state = node.scope.variables.states.get(name)
    if state is not None:
        _need_type(name, "assigned", state, value)
    node.scope.assign(name, value)


def _variable(node: TfliteNode) -> str:
    handle = node.input(0)
    if not isinstance(handle, Handle):
        raise Refused(f"{handle.name} is not a handle that VAR_HANDLE opens")
    return handle.name


def _need_type(name: str, what: str, value: Value, other: Value) -> None:
    """Raise Refused unless both values store elements alike, in the same shape; a scalar's shape is [1]."""
    is_same = is_alike(value.type, other.type) and (value.shape or (1,)) == (other.shape or (1,))
    expressible(is_same, f"variable {name} is {value.type}, and it is {what} as {other.type}")
