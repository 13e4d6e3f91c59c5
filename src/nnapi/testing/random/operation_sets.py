"""Select operations by their declared traits."""

from nnapi.model.facts import Trait
from nnapi.model.operation import REGISTRY


def find_operations(traits: Trait) -> frozenset[str]:
    """Return the names of the operations that have one of these traits."""
    return frozenset(operation.name for operation in REGISTRY.values() if operation.does(traits))


REQUANTIZING = find_operations(Trait.REQUANTIZES)
CHOOSING = find_operations(Trait.MOVES | Trait.CHOOSES | Trait.REQUANTIZES)
PAIRWISE = find_operations(Trait.PAIRS)
STEPPING = find_operations(Trait.STEPS)
TWO_COMPARED = find_operations(Trait.COMPARES)
ROUNDING = STEPPING - TWO_COMPARED
"""Operations that step without comparing two operands: an engine that reads a denormal value as 0 misses a step."""
ORDERING = find_operations(Trait.ORDERS)
DIVIDING = find_operations(Trait.DIVIDES)
UNDEFINED_BY_0 = find_operations(Trait.UNDEFINED_BY_0)
RAISING = find_operations(Trait.RAISES)
SCALING = find_operations(Trait.SCALES)
SEQUENCES = find_operations(Trait.FEEDS_BACK)
KEEPING = CHOOSING - ORDERING - STEPPING
"""Operations whose results are elements of their operands, even infinite ones."""
