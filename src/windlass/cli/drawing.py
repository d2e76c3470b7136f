"""How a graph is drawn in a terminal: its layers from left to right, with lines from what is needed to what needs it.

✓ lint ──┬── ✓ test[3.11] ──┬── … report
         ├── ▶ test[3.12] ──┤
         └── ✓ build ───────┘

Lines that lead to the same jobs are one line. A line that only crosses another passes under it: ─│─. Where a reader
could still follow a line to a job that does not need it, words say what it needs; where there are many of these, or too
little room, the jobs are listed layer by layer instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from windlass.cli.terminal import ASCII, Glyphs, cut
from windlass.rules.explain.words import joined
from windlass.rules.layout import Layout, Node

DIM = "bright_black"
MOST_ROWS, MOST_ROWS_IN_FULL = 40, 200
SHORTEST_LABEL = 3
SHORTEST_NAMES = (24, 16, 12)  # to which names are cut, one after the other, until the picture fits
LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
LINES = " ╴╶─╵┘└┴╷┐┌┬│┤├┼"  # by the sum of the sides at which they are open
PLAIN_LINES = " ---|+++|+++|+++"
STRAIGHT, TRACK = 4, 2  # columns between layers without a bend, and for each line that bends
NEARLY = 0.01  # a line stands above a node that is wanted on the same row
SHOWN_NEEDS = 5
MOST_DOUBTFUL = 4


class Label(Struct, frozen=True, kw_only=True):
    """How one node is written."""

    sign: str
    name: str
    style: str
    more: str = ""  # behind the name, if there is room
    is_over: bool = False

    @property
    def length(self) -> int:
        """In cells, with everything."""
        return cell_len(f"{self.sign} {self.name}{self.more}")

    def text(self, *, room: int, is_brief: bool, glyphs: Glyphs) -> Text:
        name = cut(self.name, room, glyphs=glyphs)
        found = Text(f"{self.sign} {name}", style=self.style)
        return found if is_brief or not self.more else found.append(self.more, style=DIM)


def draw(layout: Layout, labels: Mapping[str, Label], *, width: int, glyphs: Glyphs, is_full: bool) -> list[Text]:
    """The picture if it fits into `width`, else the list."""
    if _may_fit(layout, width=width, rows=MOST_ROWS_IN_FULL if is_full else MOST_ROWS):
        places = _Places(layout)
        for room, is_brief in _rooms(labels):
            texts = {name: label.text(room=room, is_brief=is_brief, glyphs=glyphs) for name, label in labels.items()}
            picture = _picture(places, texts, width=width, glyphs=glyphs)
            if picture is not None:
                lines, doubtful = picture
                words = [f"{label.name}{label.more}" for label in labels.values() if label.more and is_brief]
                words += [f"{labels[name].name} is after {_after(places.needs[name], labels)}" for name in doubtful]
                return [*lines, *(Text(cut(line, width, glyphs=glyphs), style=DIM) for line in words)]
    return list(_list(layout, labels, width=width, glyphs=glyphs, is_full=is_full))


def _may_fit(layout: Layout, *, width: int, rows: int) -> bool:
    """Whether a picture is worth trying: what it takes grows with the square of what is in it."""
    sizes = Counter(node.layer for node in layout.nodes)
    return len(sizes) * (SHORTEST_LABEL + STRAIGHT) - STRAIGHT <= width and max(sizes.values()) <= rows


def _after(needs: Sequence[str], labels: Mapping[str, Label]) -> str:
    return joined([labels[name].name for name in needs], most=SHOWN_NEEDS)


def _rooms(labels: Mapping[str, Label]) -> Iterator[tuple[int, bool]]:
    longest = max(cell_len(label.name) for label in labels.values())
    yield from ((longest, False), (longest, True))
    yield from ((room, True) for room in SHORTEST_NAMES if room < longest)


# Where things stand


class _Item(Struct, frozen=True):
    """What stands in a layer: a node, or a line on its way past it."""

    layer: int
    leads_to: tuple[str, ...]  # nodes of later layers
    name: str = ""  # none: it is a line, and stands for all that lead to these nodes


class _Bundle(Struct, frozen=True):
    """Lines between two layers that lead from these rows to those."""

    sources: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def is_straight(self) -> bool:
        return self.sources == self.targets and len(self.sources) == 1


class _Places:
    """The row of everything, layer by layer."""

    def __init__(self, layout: Layout) -> None:
        self._depths = {node.name: node.layer for node in layout.nodes}
        self.layers: list[list[Node]] = [[] for _ in range(1 + max(self._depths.values(), default=-1))]
        for node in layout.nodes:
            self.layers[node.layer].append(node)
        self.needs: dict[str, list[str]] = {name: [] for name in self._depths}
        below: dict[str, list[str]] = {name: [] for name in self._depths}
        for one, other in layout.edges:
            if self._depths[one] < self._depths[other]:  # what is shown as one may stand in a circle
                self.needs[other].append(one)
                below[one].append(other)
        self.items = {name: _Item(depth, tuple(sorted(below[name])), name) for name, depth in self._depths.items()}
        self.rows: list[dict[_Item, int]] = []
        for layer in range(len(self.layers)):
            self.rows.append(self._place(layer))
        self.height = 1 + max((row for rows in self.rows for row in rows.values()), default=0)
        self.gaps = [self._bundles(layer) for layer in range(len(self.layers) - 1)]

    def _next(self, item: _Item) -> list[_Item]:
        """What it leads to in the next layer: nodes, and one line for all that is behind it."""
        later = tuple(name for name in item.leads_to if self._depths[name] > item.layer + 1)
        found = [self.items[name] for name in item.leads_to if self._depths[name] == item.layer + 1]
        return [*found, _Item(item.layer + 1, later)] if later else found

    def _place(self, layer: int) -> dict[_Item, int]:
        """Nodes in their order, lines that pass between them, each as near as can be to where it comes from."""
        above: dict[_Item, list[int]] = {self.items[node.name]: [] for node in self.layers[layer]}
        for item, row in self.rows[layer - 1].items() if layer else ():
            for below in self._next(item):
                above.setdefault(below, []).append(row)
        wanted: list[tuple[float, _Item]] = []
        least = 0.0  # the order of nodes stands: none is wanted above the one before it
        for item, rows in above.items():
            middle = sum(rows) / len(rows) if rows else 0.0
            if item.name:
                middle = least = max(middle, least)
            wanted.append((middle if item.name else middle - NEARLY, item))
        wanted.sort(key=lambda pair: pair[0])
        found: dict[_Item, int] = {}
        free = 0
        for middle, item in wanted:
            found[item] = max(free, int(middle + NEARLY))
            free = found[item] + 1
        return found

    def _bundles(self, layer: int) -> list[_Bundle]:
        """The lines between this layer and the next: those with the same targets are one."""
        sources: dict[tuple[int, ...], list[int]] = {}
        for item, row in self.rows[layer].items():
            targets = tuple(sorted(self.rows[layer + 1][below] for below in self._next(item)))
            if targets:
                sources.setdefault(targets, []).append(row)
        return [_Bundle(tuple(sorted(rows)), targets) for targets, rows in sorted(sources.items())]


def _tracks(bundles: Sequence[_Bundle]) -> list[_Bundle] | None:
    """The lines that bend, in the order of their tracks from left to right; none if some would lie on another.

    On a row at which one line begins and another ends, the one that begins has to bend first. Otherwise the one that
    leads to most jobs does: what joins it behind its bend cannot be mistaken for it.
    """
    left = [bundle for bundle in bundles if not bundle.is_straight]
    left.sort(key=lambda bundle: -len(bundle.targets))
    order: list[_Bundle] = []
    while left:
        free = (one for one in left if not any(_must_precede(other, one) for other in left if other is not one))
        first = next(free, None)
        if first is None:
            return None
        left.remove(first)
        order.append(first)
    return order


def _must_precede(one: _Bundle, other: _Bundle) -> bool:
    return any(row in other.targets and row not in one.targets for row in one.sources)


# The picture


def _picture(
    places: _Places, texts: Mapping[str, Text], *, width: int, glyphs: Glyphs
) -> tuple[list[Text], list[str]] | None:
    """The lines, and the nodes of which they do not tell the needs; none if it does not fit or cannot be read."""
    if sum(not bundle.is_straight for bundles in places.gaps for bundle in bundles) * TRACK > width:
        return None
    tracks = [_tracks(bundles) for bundles in places.gaps]
    starts, x = list[int](), 0
    for layer, nodes in enumerate(places.layers):
        starts.append(x)
        x += max(texts[node.name].cell_len for node in nodes)
        if layer < len(tracks):
            found = tracks[layer]
            if found is None:
                return None
            x += max(STRAIGHT, 3 + TRACK * len(found))
    if x > width:
        return None
    canvas = _Canvas(places.height, x, glyphs)
    for layer, rows in enumerate(places.rows):
        for item, row in rows.items():
            if item.name:
                canvas.write(row, starts[layer], texts[item.name])
            else:  # past this layer
                canvas.level(row, starts[layer] - 2, starts[layer])
    for layer, ordered in enumerate(tracks):
        _join(canvas, places.gaps[layer], ordered or [], begin=starts[layer], end=starts[layer + 1] - 2)
    doubtful = _doubtful(canvas, places, starts)
    return None if len(doubtful) > MOST_DOUBTFUL else (canvas.lines(), doubtful)


def _join(canvas: _Canvas, bundles: Sequence[_Bundle], ordered: Sequence[_Bundle], *, begin: int, end: int) -> None:
    """Draw the lines between two layers: `begin` is where labels of the first do, `end` the last column of a line."""
    for bundle in bundles:
        if bundle.is_straight:
            canvas.level(bundle.sources[0], canvas.begin(bundle.sources[0], begin), end + 1)
    for place, bundle in enumerate(ordered):
        x = end + 1 - TRACK * (len(ordered) - place)
        for row in bundle.sources:
            canvas.level(row, canvas.begin(row, begin), x)
        for row in bundle.targets:
            canvas.level(row, x, end + 1)
        canvas.upright(x, {*bundle.sources, *bundle.targets})


def _doubtful(canvas: _Canvas, places: _Places, starts: Sequence[int]) -> list[str]:
    """Follow every line as a reader does, and find the nodes to which others lead than those they need."""
    doubtful: list[str] = []
    origins: dict[_Item, set[str]] = {}  # from which nodes a line seems to come
    for layer, rows in enumerate(places.rows):
        reached: dict[int, set[str]] = {}
        for item, row in places.rows[layer - 1].items() if layer else ():
            begin = canvas.begin(row, starts[layer - 1])
            for found in canvas.follow(row, begin, starts[layer] - 1):
                reached.setdefault(found, set()).update(origins[item])
        for item, row in rows.items():
            if item.name and reached.get(row, set()) != set(places.needs[item.name]):
                doubtful.append(item.name)
            origins[item] = {item.name} if item.name else reached.get(row, set())
    return doubtful


class _Canvas:
    """Labels, and lines between them."""

    def __init__(self, height: int, width: int, glyphs: Glyphs) -> None:
        self._sides = [[0] * width for _ in range(height)]
        self._texts: list[dict[int, Text]] = [{} for _ in range(height)]
        self._crossings: set[tuple[int, int]] = set()
        self._lines = PLAIN_LINES if glyphs == ASCII else LINES

    def write(self, row: int, x: int, text: Text) -> None:
        self._texts[row][x] = text

    def begin(self, row: int, x: int) -> int:
        """Where the line of what stands at `x` begins: in the space behind its label."""
        text = self._texts[row].get(x)
        return x if text is None else x + text.cell_len

    def level(self, row: int, begin: int, end: int) -> None:
        """A line from the middle of one column to the middle of another."""
        sides = self._sides[row]
        for x in range(begin, end):
            sides[x] |= RIGHT
            sides[x + 1] |= LEFT

    def upright(self, x: int, rows: set[int]) -> None:
        """A line that joins these rows; what else it meets on its way it crosses."""
        top, bottom = min(rows), max(rows)
        for row in range(top, bottom + 1):
            self._sides[row][x] |= (UP if row > top else 0) | (DOWN if row < bottom else 0)
            if row not in rows:
                self._crossings.add((row, x))

    def follow(self, row: int, x: int, end: int) -> set[int]:
        """The rows at which column `end` is reached from here, going to the right, up and down."""
        seen: set[tuple[int, int, int]] = set()
        ways = [(row, x, RIGHT)]
        while ways:
            way = ways.pop()
            if way in seen or way[1] > end:
                continue
            seen.add(way)
            ways.extend(self._next(*way))
        return {row for row, x, _ in seen if x == end}

    def _next(self, row: int, x: int, heading: int) -> Iterator[tuple[int, int, int]]:
        back = {RIGHT: LEFT, UP: DOWN, DOWN: UP}[heading]
        for side, (down, right) in {RIGHT: (0, 1), UP: (-1, 0), DOWN: (1, 0)}.items():
            if side != back and self._sides[row][x] & side and (side == heading or (row, x) not in self._crossings):
                yield row + down, x + right, side

    def lines(self) -> list[Text]:
        return [self._line(row) for row in range(len(self._sides))]

    def _line(self, row: int) -> Text:
        found, x = Text(), 0
        for begin in [*sorted(self._texts[row]), len(self._sides[row])]:
            found.append("".join(self._sign(row, column) for column in range(x, begin)), style=DIM)
            text = self._texts[row].get(begin)
            if text is not None:
                found.append_text(text)
                x = begin + text.cell_len
        found.rstrip()
        return found

    def _sign(self, row: int, x: int) -> str:
        sides = self._sides[row][x]
        if sides in (LEFT, RIGHT):
            return " "  # a half is the space beside a label
        return self._lines[UP | DOWN if (row, x) in self._crossings else sides]


# The list


def _list(layout: Layout, labels: Mapping[str, Label], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """A line for each node, layer by layer: what it is behind stands in words."""
    needs: dict[str, list[str]] = {}
    for one, other in layout.edges:
        needs.setdefault(other, []).append(one)
    nodes = layout.nodes
    begin, end = (0, len(nodes)) if is_full else _window([labels[node.name].is_over for node in nodes])
    if begin:
        yield Text(f"{glyphs.ellipsis} {begin:,} more above (--full)", style=DIM)
    number = len(str(1 + max((node.layer for node in nodes), default=0)))
    longest = max((labels[node.name].length for node in nodes[begin:end]), default=0)
    room = min(longest, width // 2)
    layer = -1
    for node in nodes[begin:end]:
        mark = f"{node.layer + 1:>{number}}" if node.layer != layer else " " * number
        layer = node.layer
        label = labels[node.name].text(room=room - 2, is_brief=False, glyphs=glyphs)
        label.truncate(room, pad=True)
        line = Text(f"{mark}  ", style=DIM).append_text(label)
        after = needs.get(node.name, [])
        if after:
            told = f"  after {_after(after, labels)}"
            line.append(cut(told, width - line.cell_len, glyphs=glyphs), style=DIM)
        line.rstrip()
        yield line
    if end < len(nodes):
        yield Text(f"{glyphs.ellipsis} {len(nodes) - end:,} more below (--full)", style=DIM)


def _window(are_over: Sequence[bool]) -> tuple[int, int]:
    """The part of a long list at which something goes on: from a little before the first job that is not over."""
    first = next((place for place, is_over in enumerate(are_over) if not is_over), 0)
    begin = max(0, min(first - MOST_ROWS // 4, len(are_over) - MOST_ROWS))
    return begin, min(len(are_over), begin + MOST_ROWS)
