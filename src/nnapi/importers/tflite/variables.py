"""Values that a file keeps between runs: variable tensors; and resource variables, which are named by handles and
initialized by CALL_ONCE."""

from collections.abc import Callable

from nnapi.codes import OperandCode
from nnapi.formats.tflite.reader import File, Operator, Subgraph, list_subgraphs
from nnapi.importers.graph import Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.nesting import inner_first
from nnapi.model.operand import OperandType

RESOURCE = "RESOURCE"
"""The element type of handles."""


class Handle(Value):
    """A tensor that names a variable; it is not an operand. ``name`` is the variable's."""

    __slots__ = ()

    def __init__(self, name: str = "") -> None:
        super().__init__(OperandType(OperandCode.INT32), name)


class Variables:
    """The variables of a subgraph and of the subgraphs that it calls, during their conversion."""

    def __init__(self, list_changing: Callable[[], frozenset[str]] = frozenset, *, is_nested: bool = False) -> None:
        """``list_changing`` returns the names of variables that a run may change; others are constants. ``is_nested``:
        the subgraph is a branch of IF or belongs to WHILE."""
        self._list_changing, self._is_nested = list_changing, is_nested
        self.states: dict[str, Value] = {}
        """The values before a run, by name, of variables that may change."""
        self.current: dict[str, Value] = {}
        self._initialized: set[int] = set()

    def read(self, name: str) -> Value:
        self._need_outer(name)
        if name not in self.current:
            raise Refused(f"variable {name} is read before it is assigned, and CALL_ONCE does not initialize it")
        return self.current[name]

    def assign(self, name: str, value: Value) -> None:
        self._need_outer(name)
        self.current[name] = value

    def initialize(self, name: str, value: Value) -> None:
        """Let a variable begin with a constant ``value``."""
        self._need_outer(name)
        expressible(value.array is not None, f"variable {name} is initialized with a value that only a run knows")
        expressible(name not in self.current, f"variable {name} is assigned before CALL_ONCE initializes it")
        if name in self._list_changing():
            value = self.states[name] = Value(value.type, name, initial=value.constant)
        self.current[name] = value

    def begin_initialization(self, subgraph: int) -> bool:
        """Return whether CALL_ONCE calls this subgraph for the first time."""
        is_first = subgraph not in self._initialized
        self._initialized.add(subgraph)
        return is_first

    def _need_outer(self, name: str) -> None:
        expressible(not self._is_nested, f"a subgraph of IF or WHILE uses variable {name}")


def name_variable(operator: Operator) -> str:
    """Return the name of the variable that a VAR_HANDLE opens, with its container."""
    options = operator.options()
    return f"{options.container}/{options.shared_name}" if options.container else str(options.shared_name)


def list_assigned(file: File, whole: int, *, all_signatures: bool = False) -> frozenset[str]:
    """Return the names of variables that a run of subgraph ``whole`` assigns after CALL_ONCE; with ``all_signatures``,
    also those that runs of other signatures assign."""
    roots = [whole, *(number for number, _ in file.signatures() if all_signatures)]

    def list_run(index: int) -> list[int]:
        operators = file.subgraph(index).operators if 0 <= index < file.subgraph_count else ()
        return [each for operator in operators if operator.kind != "CALL_ONCE" for each in list_subgraphs(operator)]

    handles: set[str] = set()
    assigned: set[str] = set()
    is_sure = True
    for index in dict.fromkeys(each for root in roots for each in inner_first(root, list_run)):
        if not 0 <= index < file.subgraph_count:
            continue
        operators = file.subgraph(index).operators
        opened = (operator for operator in operators if operator.kind == "VAR_HANDLE")
        names = {output: name_variable(operator) for operator in opened for output in operator.outputs}
        targets = [index for each in operators if each.kind == "ASSIGN_VARIABLE" for index in each.inputs[:1]]
        handles.update(names.values())
        assigned.update(names[target] for target in targets if target in names)
        is_sure = is_sure and all(target in names for target in targets)  # else a handle comes from another subgraph
    return frozenset(assigned if is_sure else handles)


def list_variables(subgraph: Subgraph) -> list[int]:
    """Return the variable tensors of a subgraph, which operators update without handles."""
    read = dict.fromkeys(index for operator in subgraph.operators for index in operator.inputs if index >= 0)
    return [index for index in read if subgraph.tensors[index].is_variable and index not in subgraph.inputs]
