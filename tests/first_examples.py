"""The first public example of each operation with each kind of numbers: enough to run each rule once, in seconds."""

from collections.abc import Iterable, Iterator
from functools import cache

from nnapi.operation_codes import CODES, FAMILIES, FAMILY_OF
from nnapi.testing.corpus import Corpus, Entry, by_file
from nnapi.testing.example import Example

KINDS = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_INT32", "TENSOR_BOOL8"
"""The first of these types that an example has is its kind."""
DERIVED = "relaxed", "internal", "as_inputs", "zero_sized", "unknown"
"""Parts of the names of examples that the generator derived from others, or whose sizes only a run knows."""


def load_first(corpus: Corpus, family: str) -> Iterator[Example]:
    """Yield the first examples of a family's operations."""
    for file, names in by_file(find_first(corpus)[family]):
        yield from corpus.load(file, names)


def kind_of(example: Example) -> object:
    """The operations of an example, and all of its operands but values and sizes."""
    operands = ((o.type, o.lifetime, len(o.dimensions), 0 in o.dimensions) for o in example.main.operands)
    return example.operations, tuple(operands), len(example.referenced), example.harness


def load_kinds(corpus: Corpus, entries: Iterable[Entry]) -> Iterator[tuple[Example, bool]]:
    """Yield examples, and whether each is the first of its kind. Of those that the generator derived from others, which
    repeat their values, yield only the first."""
    kinds = set[object]()
    for file, names in by_file(entries):
        for example in corpus.load(file, names):
            kind = kind_of(example), example.relaxed
            is_new = kind not in kinds
            kinds.add(kind)
            if is_new or is_own(example.name):
                yield example, is_new


def is_own(name: str) -> bool:
    """Whether the generator did not derive the example of this name from another."""
    return not any(part in name for part in DERIVED)


@cache
def find_first(corpus: Corpus) -> dict[str, list[Entry]]:
    """The first examples of each family's operations."""
    first: dict[tuple[str, str], Entry] = {}
    for entry in corpus.entries:
        kind = next((kind for kind in KINDS if kind in entry.types), None)
        if kind and is_own(entry.name) and len(set(entry.ops)) == 1 and not entry.expect_failure:
            first.setdefault((entry.ops[0], kind), entry)
    found: dict[str, list[Entry]] = {family: [] for family in FAMILIES}
    for (operation, _), entry in first.items():
        found[FAMILY_OF[CODES[operation]]].append(entry)
    return {family: sorted(entries, key=lambda entry: entry.file) for family, entries in found.items()}
