"""Layered layout of a graph (Sugiyama, Tagawa and Toda, 1981), folded into columns like a newspaper."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

Node = Hashable
Edge = tuple[Node, Node]

NODE_WIDTH, NODE_HEIGHT = 184.0, 34.0
BEND_WIDTH = 14.0
GAP_X, GAP_Y = 16.0, 22.0
GUTTER = 56.0
"""Pixels between two columns; each edge between them adds LANE."""
LANE = 5.0
MARGIN = 10.0
SWEEPS = 8
COLUMN_LAYERS = 18
"""The number of layers of a column, about as many as fit on a screen."""


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float = NODE_WIDTH
    height: float = NODE_HEIGHT


@dataclass(frozen=True)
class Drawing:
    """A laid-out graph: boxes of the nodes and SVG path data of the edges, in pixels."""

    boxes: Mapping[Node, Box]
    paths: Mapping[Edge, str]
    width: float
    height: float


@dataclass(frozen=True)
class _Bend:
    edge: Edge
    layer: int


def draw(nodes: Sequence[Node], edges: Iterable[Edge], column_layers: int = COLUMN_LAYERS) -> Drawing:
    """Lay out an acyclic graph; ``nodes`` are in topological order."""
    edges = list(dict.fromkeys(edges))
    chains, layers = _bend_edges(nodes, edges)
    links = [pair for chain in chains.values() for pair in pairwise(chain)]
    _order(layers, links)
    columns = _columns(layers, links, column_layers)
    centers: dict[Node, tuple[int, float, float]] = {}
    column_of = {node: number for number, column in enumerate(columns) for layer in column for node in layer}
    lanes = _lanes(links, column_of)
    depth = MARGIN + LANE * max((len(crossing) for crossing in lanes.values()), default=0)
    left = height = MARGIN
    turns: dict[Edge, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        positions = _center(column, links)
        low = min((x - _width(node) / 2 for node, x in positions.items()), default=0.0)
        high = max((x + _width(node) / 2 for node, x in positions.items()), default=0.0)
        for row, layer in enumerate(column):
            y = depth + row * (NODE_HEIGHT + GAP_Y) + NODE_HEIGHT / 2
            for node in layer:
                centers[node] = number, left + positions[node] - low, y
            height = max(height, y + NODE_HEIGHT / 2)
        left += high - low
        for lane, link in enumerate(lanes[number]):
            turns[link] = left + GUTTER / 2 + lane * LANE, lane * LANE
        left += GUTTER + LANE * len(lanes[number])
    paths = {edge: _path(chain, centers, turns) for edge, chain in chains.items()}
    boxes = {node: Box(centers[node][1] - NODE_WIDTH / 2, centers[node][2] - NODE_HEIGHT / 2) for node in nodes}
    return Drawing(boxes, paths, left - GUTTER + MARGIN, height + depth)


def _width(node: Node) -> float:
    return BEND_WIDTH if isinstance(node, _Bend) else NODE_WIDTH


def _bend_edges(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[dict[Edge, list[Node]], list[list[Node]]]:
    """Return each edge as a chain with a bend in every layer it crosses, and the layers with these bends."""
    depth = dict.fromkeys(nodes, 0)
    entering, leaving = _neighbors(edges)
    for node in nodes:
        for target in leaving[node]:
            depth[target] = max(depth[target], depth[node] + 1)
    for node in reversed(nodes):  # a node without inputs is placed one layer before its first reader
        if leaving[node] and not entering[node]:
            depth[node] = min(depth[target] for target in leaving[node]) - 1
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    chains: dict[Edge, list[Node]] = {}
    for edge in edges:
        bends = [_Bend(edge, layer) for layer in range(depth[edge[0]] + 1, depth[edge[1]])]
        for bend in bends:
            layers[bend.layer].append(bend)
        chains[edge] = [edge[0], *bends, edge[1]]
    return chains, layers


def _neighbors(links: Iterable[Edge]) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    above, below = defaultdict[Node, list[Node]](list), defaultdict[Node, list[Node]](list)
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _sweep(
    layers: Sequence[list[Node]], links: Iterable[Edge], position: Mapping[Node, float]
) -> Iterator[tuple[list[Node], list[float]]]:
    """Yield layers downwards, then upwards, with the mean positions of each node's neighbors in the previous layer."""
    neighbors = _neighbors(links)
    for sweep in range(SWEEPS):
        near = neighbors[sweep % 2]
        for layer in reversed(layers) if sweep % 2 else layers:
            yield layer, [fmean(position[n] for n in near[node] or (node,)) for node in layer]


def _order(layers: Sequence[list[Node]], links: Iterable[Edge]) -> None:
    position: dict[Node, float] = {}

    def number(layer: list[Node]) -> None:
        position.update({node: index - (len(layer) - 1) / 2 for index, node in enumerate(layer)})

    for layer in layers:
        number(layer)
    for layer, means in _sweep(layers, links, position):
        layer.sort(key=dict(zip(layer, means, strict=True)).__getitem__)
        number(layer)


def _columns(layers: list[list[Node]], links: Sequence[Edge], length: int) -> list[list[list[Node]]]:
    """Divide the layers into columns of about ``length`` layers, at places that few edges cross."""
    count = -(-len(layers) // length)
    if count < 2:
        return [layers]
    depth = {node: number for number, layer in enumerate(layers) for node in layer}
    crossing = Counter(depth[upper] for upper, _ in links)
    target = len(layers) / count
    breaks = [0]
    for number in range(1, count):
        ideal = round(number * target)
        window = range(max(breaks[-1] + 1, ideal - length // 5), min(len(layers) - 1, ideal + length // 5) + 1)
        breaks.append(min(window, key=lambda layer: (crossing[layer - 1], abs(layer - ideal))))
    breaks.append(len(layers))
    return [layers[a:b] for a, b in pairwise(breaks)]


def _center(layers: Sequence[list[Node]], links: Iterable[Edge]) -> dict[Node, float]:
    """Return horizontal centers near the neighbors' mean, in the layer's order and without overlap."""
    here = {node for layer in layers for node in layer}
    inner = [(upper, lower) for upper, lower in links if upper in here and lower in here]
    position = {node: x for layer in layers for node, x in zip(layer, _apart(layer, [0.0] * len(layer)), strict=True)}
    for layer, means in _sweep(layers, inner, position):
        position.update(zip(layer, _apart(layer, means), strict=True))
    return position


def _apart(layer: Sequence[Node], wanted: Sequence[float]) -> list[float]:
    """Return the nearest positions without overlap; nodes that touch share their mean deviation."""
    offsets = [0.0][: len(layer)]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (_width(left) + _width(right)) / 2 + GAP_X)
    runs: list[list[float]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        runs.append([want - offset])
        while len(runs) > 1 and fmean(runs[-2]) > fmean(runs[-1]):
            last = runs.pop()
            runs[-1] += last
    shifts = [fmean(run) for run in runs for _ in run]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


def _lanes(links: Iterable[Edge], column: Mapping[Node, int]) -> dict[int, list[Edge]]:
    """Return, by column, the links that leave it through the gutter on its right."""
    lanes: dict[int, list[Edge]] = defaultdict(list)
    for upper, lower in dict.fromkeys(links):
        if column[upper] != column[lower]:
            lanes[column[upper]].append((upper, lower))
    return lanes


def _path(
    chain: Sequence[Node], centers: Mapping[Node, tuple[int, float, float]], turns: Mapping[Edge, tuple[float, float]]
) -> str:
    """Return an edge as SVG path data. A link to the next column goes down, up its lane of the gutter, and down."""
    half = NODE_HEIGHT / 2
    _, x, y = centers[chain[0]]
    y += half
    text = f"M{x:.1f} {y:.1f}"
    for upper, lower in pairwise(chain):
        _, next_x, top = centers[lower]
        top -= half
        if (upper, lower) in turns:
            across, apart = turns[upper, lower]
            text += f"V{y + 6 + apart:.1f}H{across:.1f}V{top - 6 - apart:.1f}H{next_x:.1f}V{top:.1f}"
        else:
            middle = (y + top) / 2
            text += f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {top:.1f}"
        x, y = next_x, top
        if isinstance(lower, _Bend):
            y += NODE_HEIGHT
            text += f"V{y:.1f}"
    return text
