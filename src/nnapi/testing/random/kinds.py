"""Operations by what a small difference of their operands does to their results, as they declare it."""

from nnapi.model.facts import Trait
from nnapi.model.operation import REGISTRY


def doing(traits: Trait) -> frozenset[str]:
    """The names of the operations that have one of these traits."""
    return frozenset(operation.name for operation in REGISTRY.values() if operation.does(traits))


REQUANTISING = doing(Trait.REQUANTIZES)
CHOOSING = doing(Trait.MOVES | Trait.CHOOSES | Trait.REQUANTIZES)
PAIRWISE = doing(Trait.PAIRS)
STEPPING = doing(Trait.STEPS)
TWO_COMPARED = doing(Trait.COMPARES)
ORDERING = doing(Trait.ORDERS)
SEQUENCES = doing(Trait.FEEDS_BACK)
