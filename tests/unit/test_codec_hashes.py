"""Can numbers from outside that share a hash hold a process up while a set or a mapping is made of them?"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Generic, NamedTuple, TypedDict, TypeVar
from uuid import UUID

import msgspec
import pydantic
import pytest

from tests.property.work import comparisons, work_of
from windlass.codec import Codec, usable
from windlass.codec_convert import Hashing
from windlass.codec_hashes import LARGE, MOST_ALIKE, MOST_LARGE
from windlass.errors import InvalidInput
from windlass.rules import feed
from windlass.server.http import app as http_app
from windlass.store import rows

PRIME = 2**61 - 1  # what Python's hash of a number is modulo
REFUSED = "more than 1,000 integers beyond 2\\*\\*60"
ALIKE = "more than 100 items of the same hash"
T = TypeVar("T")
codec = Codec()


class Order(msgspec.Struct, frozen=True):
    ids: set[int] = msgspec.field(default_factory=set)
    listed: list[int] = msgspec.field(default_factory=list)
    inner: Order | None = None


class Owned(msgspec.Struct, frozen=True):
    owner: UUID


class Box(msgspec.Struct, Generic[T], frozen=True):
    items: frozenset[T]


class Left(msgspec.Struct, tag=True):
    ids: set[int]


class Right(msgspec.Struct, tag=True):
    ids: list[int]


class Row(msgspec.Struct, array_like=True, tag=True):
    name: str
    ids: set[int]


class Pair(NamedTuple):
    ids: set[int]
    name: str = ""


class Options(TypedDict):
    by_id: dict[UUID, int]


@dataclasses.dataclass(frozen=True)
class Place:
    x: int
    y: int


class Model(pydantic.BaseModel):
    ids: set[int] = pydantic.Field(default=set(), alias="theIds")
    by_number: dict[int, str] = {}
    listed: list[int] = []


class Other(pydantic.BaseModel):
    name: str


class Several(pydantic.BaseModel):
    either: Model | Other | None = None
    lots: list[Model | Other] = []
    kept: set[int] | list[str] = set()
    counted: defaultdict[int, int] = pydantic.Field(default_factory=lambda: defaultdict(int))
    pairs: Annotated[tuple[Model | Other, set[int] | None] | None, "any"] = None


class Numbers(pydantic.RootModel[set[int]]):
    pass


def integers(count: int) -> list[int]:
    """All of one hash, that of 1, of either sign."""
    return [(1 + PRIME * (number + 2)) for number in range(count)]


def tagged(tag: str, items: list[Any]) -> bytes:
    return json.dumps({tag: items}).encode()


def as_integer(number: int) -> Any:
    return number if abs(number) < 2**63 else {"$int": str(number)}


def as_tuple(number: int) -> Any:
    return {"$tuple": [as_integer(number), 7]}


def uuids(count: int) -> list[str]:
    return [str(UUID(int=number)) for number in integers(count)]


@pytest.mark.parametrize("tag", ["$set", "$frozenset"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_set_takes_a_thousand_large_integers_and_not_one_more(tag: str, sign: int) -> None:
    items = [as_integer(sign * number) for number in integers(MOST_LARGE + 1)]

    taken = codec.decode(tagged(tag, items[:-1]))

    assert len(taken) == MOST_LARGE
    with pytest.raises(InvalidInput, match=REFUSED) as refused:
        codec.decode(tagged(tag, items))
    assert (refused.value.reason, refused.value.path) == ("invalid_input", "$")


def test_integers_up_to_the_limit_are_not_counted() -> None:
    items = [*range(5_000), *range(LARGE - 5_000, LARGE + 1), *(-number for number in range(LARGE - 5_000, LARGE + 1))]

    assert codec.decode(codec.encode(set(items))) == set(items)


@pytest.mark.parametrize(
    "spell",
    [
        as_tuple,
        lambda number: {"$decimal": str(Decimal(number))},
        lambda number: {"$uuid": str(UUID(int=number))},
        lambda number: {"$frozenset": [as_integer(number)]},
        lambda number: {"$tuple": [{"$tuple": [{"$decimal": str(number)}]}]},
    ],
    ids=["tuples", "decimals", "uuids", "frozensets", "tuples of tuples"],
)
def test_other_values_of_one_hash_are_taken_up_to_a_hundred(spell: Callable[[int], Any]) -> None:
    items = [spell(number) for number in integers(MOST_ALIKE + 1)]

    assert len(codec.decode(tagged("$set", items[:-1]))) == MOST_ALIKE
    with pytest.raises(InvalidInput, match=ALIKE):
        codec.decode(tagged("$set", items))


def test_many_values_that_do_not_collide_are_taken_whatever_they_are() -> None:
    numbers = range(LARGE, LARGE + 5_000)
    values: set[Any] = {*map(str, numbers), *map(Decimal, numbers), *((item, 1) for item in numbers)}
    values |= {UUID(int=item * 2**64 + item) for item in range(5_000)}
    values |= {2.0**power for power in range(-1_000, 1_000)} | {item / 7 for item in range(5_000)}

    assert codec.decode(codec.encode(values)) == values


@pytest.mark.parametrize(
    "value", [set(integers(1_001)), {"a": [(frozenset(integers(1_001)),)]}, Order(ids=set(integers(1_001)))]
)
def test_what_could_not_be_read_again_is_refused_where_it_is_written(value: object) -> None:
    with pytest.raises(InvalidInput, match=REFUSED):
        codec.encode(value)
    with pytest.raises(InvalidInput, match=REFUSED):
        codec.round_trip(value, type(value), what="Step", name="pack")


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (set[int], integers(1_001)),
        (frozenset[int | str] | None, integers(1_001)),
        (Annotated[set[int], "any"], integers(1_001)),
        (list[set[int]], [[1], integers(1_001)]),
        (tuple[int, set[int]], [1, integers(1_001)]),
        (tuple[set[int], ...], [integers(1_001)]),
        (dict[str, set[int]], {"a": integers(1_001)}),
        (Order, {"inner": {"inner": {"ids": integers(1_001)}}}),
        (Box[int], {"items": integers(1_001)}),
        (Left | Right, {"type": "Left", "ids": integers(1_001)}),
        (Row, ["Row", "a", integers(1_001)]),
        (Pair, [integers(1_001), "a"]),
        (Model, {"theIds": integers(1_001)}),
        (Model, {"theIds": list(map(str, integers(1_001)))}),
        (Model, {"by_number": dict.fromkeys(map(str, integers(1_001)), "")}),
        (list[Model], [{"theIds": integers(1_001)}]),
        (Numbers, integers(1_001)),
        (Several, {"either": {"theIds": integers(1_001)}}),
        (Several, {"lots": [{"name": "a"}, {"theIds": integers(1_001)}]}),
        (Several, {"kept": integers(1_001)}),
        (Several, {"counted": dict.fromkeys(map(str, integers(1_001)), 1)}),
        (Several, {"pairs": [{"name": "a"}, integers(1_001)]}),
        (set[UUID], uuids(101)),
        (set[Decimal], list(map(str, integers(101)))),
        (set[tuple[int, int]], [[number, 1] for number in integers(101)]),
        (set[frozenset[int]], [[number] for number in integers(101)]),
        (set[frozenset[int]], [integers(1_001)]),
        (set[Place], [{"x": number, "y": 1} for number in integers(101)]),
        (set[Owned], [{"owner": name} for name in uuids(101)]),
        (dict[UUID, int], dict.fromkeys(uuids(101), 1)),
        (dict[Decimal, int], dict.fromkeys(map(str, integers(101)), 1)),
        (Options, {"by_id": dict.fromkeys(uuids(101), 1)}),
        (set[Any], integers(1_001)),
        (set, integers(1_001)),
    ],
)  # fmt: skip
def test_a_list_that_an_annotation_makes_a_set_of_is_limited_as_well(type: Any, value: Any) -> None:
    data = json.dumps(value).encode()

    with pytest.raises(InvalidInput, match=f"{REFUSED}|{ALIKE}") as refused:
        codec.decode(data, type)

    assert refused.value.reason == "invalid_input"


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (list[int], integers(5_000)),
        (Order, {"listed": integers(5_000), "ids": [1, 2]}),
        (Left | Right, {"type": "Right", "ids": integers(5_000)}),
        (Model, {"listed": integers(5_000), "theIds": [1]}),
        (set[str], list(map(str, integers(5_000)))),
        (dict[str, int], dict.fromkeys(map(str, integers(5_000)), 1)),
        (set[UUID], [str(UUID(int=number << 64 | number)) for number in range(5_000)]),
        (set[int], list(range(LARGE - 5_000, LARGE))),
    ],
)
def test_what_is_not_hashed_or_does_not_collide_is_not_limited(type: Any, value: Any) -> None:
    found = codec.decode(json.dumps(value).encode(), type)

    assert found is not None


@pytest.mark.parametrize(
    "payload",
    [
        lambda count: (tagged("$set", [as_integer(number) for number in integers(count)]), Any),
        lambda count: (tagged("$set", [as_tuple(number) for number in integers(count)]), Any),
        lambda count: (json.dumps(integers(count)).encode(), set[int]),
        lambda count: (json.dumps(dict.fromkeys(uuids(count), 1)).encode(), dict[UUID, int]),
        lambda count: (json.dumps([uuids(MOST_ALIKE)] * (count // MOST_ALIKE)).encode(), list[set[UUID]]),
        lambda count: (json.dumps([integers(MOST_LARGE)] * (count // MOST_LARGE)).encode(), list[set[int]]),
    ],
    ids=["set", "tuples", "annotated", "keys", "many small ones", "many at the limit"],
)
def test_twice_the_numbers_are_at_most_two_and_a_half_times_the_work(
    payload: Callable[[int], tuple[bytes, Any]],
) -> None:
    def work(count: int) -> float:
        data, type = payload(count)
        found: list[Any] = []
        codec_work = work_of(lambda: found.append(codec.decode(data, type)))
        return codec_work + comparisons(found)

    work(2_000)  # what is looked up once for a type

    assert work(8_000) <= 2.5 * work(4_000)


def every_struct(cls: type[msgspec.Struct] = msgspec.Struct) -> list[type[msgspec.Struct]]:
    return [found for child in cls.__subclasses__() for found in (child, *every_struct(child))]


def test_nothing_that_windlass_itself_reads_from_outside_has_such_a_set_in_it() -> None:
    from_outside = ("windlass.model", "windlass.server.http", "windlass.store", "windlass.rules.feed")
    assert http_app and rows and feed  # imported, so that their structs are known

    limited = {
        found.__qualname__
        for found in every_struct()
        if found.__module__.startswith(from_outside) and usable(found) and Hashing(found).known
    }

    assert limited == set()
