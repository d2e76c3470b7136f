"""Does any value come back as something else, and does any input raise what it should not?"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.codec import Codec, safe_text
from windlass.errors import InvalidInput
from windlass.model.duration import describe, from_instant, to_duration, to_instant
from windlass.model.time import Duration, Instant
from windlass.rules import limits

codec = Codec()

offsets = st.integers(-1439, 1439).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffe"))
hashable_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.binary()
    | st.datetimes(timezones=offsets)
    | st.dates()
    | st.times().map(lambda time: time.replace(fold=0))  # a fold says nothing without a zone, and == ignores it
    | st.timedeltas()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
)
hashables = hashable_scalars | st.lists(hashable_scalars, max_size=3).map(tuple) | st.frozensets(st.integers())
keys = texts | st.sampled_from(["$", "$tuple", "$dict", "$type"])


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(hashables, max_size=4)
    )


values = st.recursive(hashable_scalars, containers, max_leaves=20)


def shape(value: Any) -> Any:
    """A value spelled out with the type of each part, so that 1, 1.0 and True differ, and -0.0 and 0.0 too."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return kind, [(key, shape(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [shape(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return kind, sorted(repr(shape(item)) for item in value)
    if isinstance(value, datetime.datetime):
        return kind, value.isoformat()
    return kind, repr(value)


@given(values)
def test_every_plain_value_comes_back_as_it_was(value: Any) -> None:
    data, digest = codec.encode_hashed(value)

    assert shape(codec.decode(data)) == shape(value)
    assert codec.encode(value) == data
    assert codec.encode_hashed(codec.decode(data)) == (data, digest)
    assert shape(codec.round_trip(value, Any, what="Step", name="f")[1]) == shape(value)


@given(st.dictionaries(keys, values, min_size=2, max_size=5), st.randoms())
def test_the_hash_ignores_the_order_of_keys(value: dict[str, Any], random: Any) -> None:
    shuffled = list(value.items())
    random.shuffle(shuffled)

    assert codec.encode_hashed(dict(shuffled))[1] == codec.encode_hashed(value)[1]


@given(st.lists(values, min_size=2, max_size=2))
def test_different_values_have_different_hashes(pair: list[Any]) -> None:
    first, second = pair

    # Order of keys is the one thing the hash forgets, and the comparison of dicts forgets it too.
    if codec.encode_hashed(first)[1] == codec.encode_hashed(second)[1]:
        assert first == second


@dataclasses.dataclass
class Node:
    number: int
    ratio: float
    anything: Any
    children: list[Node] = dataclasses.field(default_factory=list)
    by_name: dict[str, Node | None] = dataclasses.field(default_factory=dict)


leaves = st.builds(Node, number=st.integers(-(2**70), 2**70), ratio=st.floats(-1e9, 1e9), anything=values)
nodes = st.recursive(
    leaves,
    lambda inner: st.builds(
        Node,
        number=st.integers(),
        ratio=st.just(0.5),
        anything=st.none(),
        children=st.lists(inner, max_size=2),
        by_name=st.dictionaries(keys, st.none() | inner, max_size=2),
    ),
    max_leaves=5,
)


@given(st.lists(nodes, max_size=3))
def test_every_annotated_value_comes_back_as_its_class(value: list[Node]) -> None:
    data, back = codec.round_trip(value, list[Node], what="Step", name="f")

    assert back == value
    assert [type(node) for node in back] == [Node] * len(value)
    assert codec.decode(data, list[Node]) == value


def only_refuses(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    try:
        call(*args, **options)
    except InvalidInput as error:
        assert error.reason
        assert str(error)
        str(error).encode()


def is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


anything = st.recursive(
    values
    | st.floats()
    | st.text(st.characters())
    | st.complex_numbers()
    | st.datetimes()
    | st.decimals()
    | st.functions()
    | st.just(object())
    | st.just(Node),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(inner.filter(is_hashable), inner, max_size=3),
    max_leaves=8,
)


declared: st.SearchStrategy[Any] = st.sampled_from(
    [Any, int, float, str, bool, None, list[int], tuple[int, str], dict, set[str], Node, bytes]
)


@given(anything, declared)
@settings(deadline=None)
def test_writing_anything_only_ever_refuses(value: Any, annotation: Any) -> None:
    only_refuses(codec.encode, value)
    only_refuses(codec.encode_hashed, value)
    only_refuses(codec.round_trip, value, annotation, what="Step", name="f")
    only_refuses(codec.check_arguments, (value,), (annotation,), ("x",), what="Workflow 'w'")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$tuple", "$set", "$int", "$date"]), inner, max_size=2)
    ),
)
tagged = st.sampled_from(
    ["$tuple", "$set", "$frozenset", "$bytes", "$datetime", "$date", "$time", "$timedelta", "$decimal", "$uuid", "$int"]
)
noise = (
    st.binary()
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.builds(lambda tag, body: json.dumps({tag: body}).encode(), tagged, json_values)
    | st.builds(lambda value, cut: codec.encode(value)[cut:], values, st.integers(0, 3))
)


@given(noise, declared)
@settings(deadline=None)
def test_reading_any_bytes_only_ever_refuses(data: bytes, annotation: Any) -> None:
    only_refuses(codec.decode, data, annotation)


CHECKS: tuple[Callable[[Any], Any], ...] = (
    limits.check_name,
    limits.check_key,
    limits.check_step_key,
    limits.check_run_id,
    limits.check_priority,
    limits.check_visibility,
)


@given(st.text(st.characters()) | st.integers() | st.floats() | st.timedeltas() | st.booleans() | st.none())
def test_reading_any_duration_or_name_only_ever_refuses(value: Any) -> None:
    only_refuses(to_duration, value)
    only_refuses(to_instant, value, what="at")
    for check in CHECKS:
        only_refuses(check, value)
    only_refuses(limits.check_retry, value, initial_for=value, factor=value, max_for=value)


@given(st.text(st.characters()))
def test_an_accepted_name_stays_as_it_is(name: str) -> None:
    try:
        accepted = limits.check_name(name)
    except InvalidInput:
        return

    assert limits.check_name(accepted) == accepted


@given(st.integers(0, 3650 * 24 * 3600 * 10**6))
def test_durations_and_instants_are_exact(microseconds: int) -> None:
    assert to_duration(datetime.timedelta(microseconds=microseconds)) == microseconds
    assert to_duration(f"{microseconds}us") == microseconds
    assert to_instant(from_instant(Instant(microseconds))) == microseconds
    assert describe(Duration(microseconds))


@given(st.text(st.characters()))
def test_text_of_an_exception_can_always_be_stored(text: str) -> None:
    codec.encode(safe_text(ValueError(text)))
