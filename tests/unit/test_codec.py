"""Does a value come back as what it was, and is everything else refused with its place and its reason?"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import json
import socket
import sys
import uuid
from collections import OrderedDict
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pytest

from windlass.codec import Codec, safe_text, usable
from windlass.errors import InvalidInput, Unavailable

UTC = datetime.UTC
codec = Codec()


@dataclasses.dataclass
class User:
    id: int
    tags: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Admin(User):
    level: int = 1


class Point(msgspec.Struct):
    x: int
    y: float = 0.0


class Cat(msgspec.Struct, tag=True):
    name: str


class Dog(msgspec.Struct, tag=True):
    name: str


class Pair(msgspec.Struct, array_like=True):
    left: int
    right: Any = None


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Odd(enum.Enum):
    HALF = 0.5


class Row(NamedTuple):
    id: int
    name: str


class Options(TypedDict, total=False):
    depth: int


class Model(pydantic.BaseModel):
    at: datetime.datetime
    raw: bytes = b""
    numbers: tuple[int, ...] = ()
    inner: Optional[Model] = None  # noqa: UP045 - the old spelling is still written


class Linked(pydantic.BaseModel):
    url: pydantic.HttpUrl


class Hidden(pydantic.BaseModel):
    secret: pydantic.SecretStr


class Aliased(pydantic.BaseModel):
    name: str = pydantic.Field(alias="Name")


@dataclasses.dataclass
class Holder:
    conn: Any


@dataclasses.dataclass
class Picky:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise LookupError("negative")


UserId = NewType("UserId", int)
NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=UTC)


def refusal(call: Any, *args: Any, **options: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        call(*args, **options)
    return caught.value


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.spec("security:17", "security:19", "security:24")
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2**53 + 1,
        2**63,
        -(2**63),
        2**64,
        -(2**64),
        10**4299,
        -0.0,
        5e-324,
        0.1 + 0.2,
        1.0,
        1e300,
        "",
        "ünïcödé 🎈",
        r"\u0000 spelled out",
        (),
        (1, "a"),
        [(1,), [2]],
        {1, 2},
        frozenset({"a", (1, 2)}),
        b"",
        b"\x00\xff",
        NOON,
        datetime.datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
        datetime.date(1, 1, 1),
        datetime.time(23, 59, 59, 999999),
        datetime.timedelta.max,
        datetime.timedelta(microseconds=-1),
        Decimal("1.10"),
        Decimal("-0"),
        Decimal("1E+500"),
        uuid.UUID(int=7),
        {},
        {"b": 1, "a": [None, {"c": (1.5,)}]},
    ],
)
def test_plain_values_come_back_with_their_type(value: Any) -> None:
    data, back = codec.round_trip(value, Any, what="Step", name="f")

    assert (back, type(back)) == (value, type(value))
    assert repr(codec.decode(codec.encode(value))) == repr(back)
    assert codec.encode(value) == data


@pytest.mark.spec("security:34", "security:37")
@pytest.mark.parametrize(
    "value",
    [
        {"$tuple": [1]},
        {"$dict": {"$set": []}},
        {"$": 1},
        {"$unknown": {"$datetime": "x"}},
        {"$a": 1, "$b": 2},
        {"__proto__": {"py/object": "os.system"}},
        {"pickle": base64.b64encode(b"\x80\x04cos\nsystem\n.").decode()},
        {"__class__": "!!python/object/apply:os.system ['true']"},
    ],
)
def test_data_that_looks_like_a_tag_stays_data(value: Any) -> None:
    assert codec.decode(codec.encode(value)) == value
    assert codec.decode(codec.encode([value])) == [value]


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (User(1, {"a"}), User),
        ([User(1), User(2)], list[User]),
        (User(1), User | None),
        (None, Optional[User]),  # noqa: UP045
        ({"a": User(1)}, dict[str, User]),
        ((User(1), "x"), tuple[User, str]),
        (Point(1, 2.5), Point),
        (Pair(1, (2, 3)), Pair),
        ([Cat("a"), Dog("b")], list[Cat | Dog]),
        (Color.RED, Color),
        ([Level.LOW], list[Level]),
        (Row(1, "a"), Row),
        ({"depth": 1}, Options),
        (UserId(7), UserId),
        (7, Annotated[int, "a note"]),
        ("a", Literal["a", "b"]),
        (Model(at=NOON, raw=b"\xff", numbers=(1, 2), inner=Model(at=NOON)), Model),
        ([Model(at=NOON)], list[Model]),
        (None, Model | None),
        (Linked(url="https://example.org/a"), Linked),  # type: ignore[arg-type]
        (Aliased(Name="x"), Aliased),
        (Holder({"a": (1, {2})}), Holder),
        ([1, "a"], list[int | str]),
        (NOON, datetime.datetime),
        ([NOON, "text"], list[str | datetime.datetime]),
        ((1, 2), tuple),
        (None, None),
        (5, object),
    ],
)
def test_annotated_values_come_back_as_their_class(value: Any, annotation: Any) -> None:
    data, back = codec.round_trip(value, annotation, what="Step", name="f")

    assert (back, type(back)) == (value, type(value))
    assert codec.decode(data, annotation) == value


def test_integers_beyond_64_bits_are_tagged_for_readers_that_would_round_them() -> None:
    assert codec.encode([2**64 - 1, -(2**63)]) == b"[18446744073709551615,-9223372036854775808]"
    assert codec.encode([2**64, 1]) == b'[{"$int":"18446744073709551616"},1]'
    assert codec.encode(-(2**63) - 1) == b'{"$int":"-9223372036854775809"}'


def test_a_float_may_be_given_as_an_equal_int() -> None:
    assert repr(codec.round_trip(3, float, what="Step", name="f")[1]) == "3.0"
    assert repr(codec.round_trip(Point(1, 2), Point, what="Step", name="f")[1]) == "Point(x=1, y=2.0)"
    assert refusal(codec.round_trip, 2**53 + 1, float, what="Step", name="f").path == "$"


def test_the_result_is_a_copy_as_it_would_be_after_a_crash() -> None:
    value = [{"a": 1}]

    _, back = codec.round_trip(value, list, what="Step", name="f")

    assert back == value and back is not value and back[0] is not value[0]


def test_a_named_zone_comes_back_as_its_offset() -> None:
    rome = datetime.datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Rome"))

    back = codec.decode(codec.encode(rome))

    assert (back, back.utcoffset()) == (rome, datetime.timedelta(hours=2))


def test_a_class_without_annotation_is_refused_in_the_documented_words() -> None:
    assert str(refusal(codec.round_trip, User(1), Any, what="Step", name="fetch_user")) == (
        "Step 'fetch_user' returned a User but declares no return type; "
        'after a crash it would come back as a dict. Write "-> User".'
    )


def test_what_cannot_be_stored_is_refused_in_the_documented_words() -> None:
    with socket.socket() as connection:
        rows = {"rows": [1, 2, 3, {"conn": connection}]}
        error = refusal(codec.round_trip, rows, Any, what="Step", name="fetch")

    assert str(error) == (
        "Step 'fetch' ran, but its result cannot be stored: $.rows[3].conn is a socket. "
        "Return plain data, a dataclass, a Struct or a pydantic model."
    )
    assert (error.reason, error.path) == ("not_serializable", "$.rows[3].conn")


@pytest.mark.parametrize(
    ("value", "annotation", "words"),
    [
        ([User(1)], Any, ("a User at $[0]", "no return type", "a dict")),
        (Color.RED, Any, ("a Color", "as a str", '"-> Color"')),
        (Level.LOW, Any, ("a Level", "as an int")),
        (Row(1, "a"), Any, ("a Row", "as a list")),
        (Admin(1), User, ("an Admin", '"-> User"', "as a User")),
        ("7", int, ("a str", '"-> int"', "Expected int, got str")),
        (True, int, ("a bool", '"-> int"')),
        (1, bool, ("an int", '"-> bool"')),
        (1.0, int, ("a float", '"-> int"')),
        (5, None, ("an int", '"-> None"')),
        ([1], tuple[int, ...], ("a list", "tuple[int, ...]", "as a tuple")),
        ((1,), list[int], ("a tuple", "as a list")),
        ("eHg=", bytes, ("a str", "as a bytes")),
        ([User(1), 3], list[User], ("$[1]", "list[User]")),
        ({"depth": 1, "more": 2}, Options, ("Options", "changed")),
        (Hidden(secret=pydantic.SecretStr("x")), Hidden, ("a SecretStr at $.secret", "changed")),
        (Picky(1), User | Picky, ("a Picky", "cannot be restored")),
    ],
)
def test_a_value_that_would_come_back_changed_is_refused(value: Any, annotation: Any, words: tuple[str, ...]) -> None:
    text = str(refusal(codec.round_trip, value, annotation, what="Step", name="f"))

    assert text.startswith("Step 'f' returned ")
    assert [word for word in words if word not in text] == []


@pytest.mark.spec("security:16", "security:18", "security:21", "security:23", "security:25", "security:26")
@pytest.mark.parametrize(
    ("value", "reason", "text"),
    [
        ({"x": float("nan")}, "invalid_input", "non-finite number at $.x"),
        ([float("inf")], "invalid_input", "non-finite number at $[0]"),
        ((-float("inf"),), "invalid_input", "non-finite number at $[0]"),
        ([1.5, float("nan")], "invalid_input", "non-finite number at $[1]"),
        (Decimal("NaN"), "invalid_input", "non-finite number at $"),
        ([10**4300], "invalid_input", "number too long at $[0]"),
        (10**100_000, "invalid_input", "number too long at $"),
        ("ab\ud800", "invalid_text", "text at $ is not valid: U+D800 at position 2"),
        (["a", "\0"], "invalid_text", "text at $[1] is not valid: U+0000 at position 0"),
        (("\ufffe",), "invalid_text", "text at $[0] is not valid: U+FFFE at position 0"),
        ({"a": {"k\0": 1}}, "invalid_text", "text at $.a['k\\x00'] is not valid: U+0000 at position 1"),
        ({1: "a", "1": "b"}, "invalid_input", "keys must be strings: $ has an int as a key"),
        ({"a": {Color.RED: 1}}, "invalid_input", "keys must be strings: $.a has a Color as a key"),
        ({"at": datetime.datetime(2026, 1, 1)}, "invalid_input", "timezone required: $.at is a naive datetime"),  # noqa: DTZ001
        (1 + 2j, "not_serializable", "$ is a complex"),
        ([object()], "not_serializable", "$[0] is an object"),
        ({"f": len}, "not_serializable", "$.f is a builtin_function_or_method"),
        ((letter for letter in "ab"), "not_serializable", "$ is a generator"),
        (bytearray(b"x"), "not_serializable", "$ is a bytearray"),
        (OrderedDict(a=1), "not_serializable", "$ is an OrderedDict, a subclass of dict"),
        (Odd.HALF, "not_serializable", "$ is an Odd"),
        (User, "not_serializable", "$ is a type"),
        (Holder(Holder(object())), "not_serializable", "$.conn.conn is an object"),
        ({(1, object())}, "not_serializable", "$[*][1] is an object"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_refused_values_name_their_place_and_reason(value: Any, reason: str, text: str) -> None:
    error = refusal(codec.encode, value)

    assert (error.reason, str(error)) == (reason, text)
    assert refusal(codec.encode_hashed, value).reason == reason


@pytest.mark.spec("security:27")
def test_a_cycle_is_called_a_cycle() -> None:
    inner: dict[str, Any] = {}
    value = [inner]
    inner["again"] = value
    holder = Holder(None)
    holder.conn = holder

    for looped in (value, holder):
        error = refusal(codec.encode, looped)
        assert (error.reason, str(error)) == ("not_serializable", "cycle: $ contains itself")


def test_depth_is_bounded_in_both_directions() -> None:
    assert codec.decode(codec.encode(nested(64))) == nested(64)
    assert codec.decode(codec.encode(((nested(62),),))) == ((nested(62),),)
    for depth in (65, 200_000):
        assert str(refusal(codec.encode, nested(depth))) == "depth > 64 at $"
        assert "depth > 64" in str(refusal(codec.decode, b"[" * depth + b"]" * depth))


@pytest.mark.spec("security:30")
def test_the_size_limit_is_exact_and_early() -> None:
    small = Codec(max_bytes=100)

    assert len(small.encode("x" * 98)) == 100
    assert len(small.encode(["x" * 96])) == 100
    assert str(refusal(small.encode, "x" * 99)) == "payload too large: 101 bytes, limit 100"
    assert refusal(small.encode, ("x" * 99,)).reason == "payload_too_large"
    assert len(small.encode(("x" * 85,))) == 100
    assert refusal(small.encode, ("x" * 86,)).reason == "payload_too_large"
    for huge in (["x" * 10**6] * 10**6, {"x" * 10**7: 1}, dict.fromkeys(map(str, range(10**6))), [b"x" * 10**7] * 99):
        assert refusal(codec.encode, huge).reason == "payload_too_large"


def test_a_structure_that_multiplies_itself_is_stopped() -> None:
    laughs: list[Any] = [1]
    for _ in range(60):
        laughs = [laughs, laughs]

    assert refusal(codec.encode, laughs).reason == "payload_too_large"


def test_the_hash_ignores_order_and_nothing_else() -> None:
    def digest(value: Any) -> bytes:
        return codec.encode_hashed(value)[1]

    assert digest({"a": 1, "b": {"c": 1, "d": 2}}) == digest({"b": {"d": 2, "c": 1}, "a": 1})
    assert list({0, 8}) != list({8, 0}), "two orders of one set"
    assert digest({0, 8}) == digest({8, 0})
    assert list(codec.decode(codec.encode_hashed({"b": 1, "a": 2})[0])) == ["b", "a"]
    different = [1, 1.0, True, "1", [1], (1,), {1}, frozenset({1}), {"1": 1}, None, [[1]], Decimal(1), b"1"]
    assert len({digest(value) for value in different}) == len(different)
    assert all(len(digest(value)) == 16 for value in different)


def test_the_quick_way_and_the_long_way_agree() -> None:
    for value in (7, "a", (7, "a"), (1.5, None, True), ("é",), ()):
        slow, _, _ = codec._write(value, path="$")
        assert codec._quick(value) == slow


class Xor:
    """A hook that hides bytes well enough for a test."""

    def seal(self, data: bytes) -> bytes:
        return b"sealed" + bytes(byte ^ 90 for byte in data)

    def open(self, data: bytes) -> bytes:
        if not data.startswith(b"sealed"):
            raise RuntimeError("not sealed by us")
        return bytes(byte ^ 90 for byte in data[6:])


def test_a_hook_is_applied_last_and_leaves_hashes_alone() -> None:
    sealed = Codec(hook=Xor())

    for value in (7, (7, "a"), {"a": [1]}):
        data, digest = sealed.encode_hashed(value)
        assert data.startswith(b"sealed") and sealed.decode(data) == value
        assert digest == codec.encode_hashed(value)[1]
        assert sealed.round_trip(value, Any, what="Step", name="f") == (sealed.encode(value), value)


def test_a_payload_that_cannot_be_opened_is_refused() -> None:
    assert refusal(Codec(hook=Xor()).decode, b"1").reason == "cannot_open"

    class Down(Xor):
        def open(self, data: bytes) -> bytes:
            raise Unavailable("the key service is down")

    with pytest.raises(Unavailable):
        Codec(hook=Down()).decode(b"1")


@pytest.mark.spec("security:22", "security:35")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "invalid_json"),
        (b"1 2", "invalid_json"),
        (b"\xef\xbb\xbf1", "invalid_json"),
        (b"{'a': 1}", "invalid_json"),
        (b"1 // one", "invalid_json"),
        (b"NaN", "invalid_json"),
        (b'{"a":1,"a":2}', "invalid_json"),
        (b'[{"a":1,"\\u0061":2}]', "invalid_json"),
        (b'{"$tuple":[1],"$tuple":[2]}', "invalid_json"),
        (b'{"$unknown":1}', "invalid_json"),
        (b'{"\\u0024unknown":1}', "invalid_json"),
        (b'{"$tuple":1}', "invalid_json"),
        (b'{"$set":[1,1]}', "invalid_json"),
        (b'{"$set":[[1]]}', "invalid_json"),
        (b'{"$int":"1_0"}', "invalid_json"),
        (b'{"$int":"\xef\xbc\x91"}', "invalid_json"),
        (b'{"$decimal":" 1"}', "invalid_json"),
        (b'{"$decimal":"x"}', "invalid_json"),
        (b'{"$bytes":"a"}', "invalid_json"),
        (b'{"$date":"2026-02-30"}', "invalid_json"),
        (b'{"$datetime":"2026-01-01T00:00:60+00:00"}', "invalid_json"),
        (b'{"$timedelta":[true,0,0]}', "invalid_json"),
        (b'{"$timedelta":[9999999999,0,0]}', "invalid_json"),
        (b'{"$uuid":"{00000000-0000-0000-0000-000000000007}"}', "invalid_json"),
        (b'{"$datetime":"2026-01-01T00:00:00"}', "invalid_input"),
        (b'{"$decimal":"NaN"}', "invalid_input"),
        (b'{"$int":"' + b"1" * 5000 + b'"}', "invalid_input"),
        (b"1" * 5000, "invalid_input"),
        (b"1e999", "invalid_input"),
        (b'"\xff"', "invalid_text"),
        (b'"\xed\xa0\x80"', "invalid_text"),
        (b'"\\ud800"', "invalid_text"),
        (b'["\\u0000"]', "invalid_text"),
        (b'{"a":"\xef\xbf\xbe"}', "invalid_text"),
        (b"\x80\x04\x95", "invalid_json"),
    ],
)
def test_bytes_that_are_not_ours_are_refused(data: bytes, reason: str) -> None:
    assert refusal(codec.decode, data).reason == reason


def test_json_written_by_others_is_read() -> None:
    assert codec.decode(b' { "a" : [ 1, 2.50, "\\u00e9" ] }\n') == {"a": [1, 2.5, "é"]}
    assert codec.decode(b'"2026-03-01T12:00:00Z"', datetime.datetime) == NOON
    assert codec.decode(b'{"id": 7}', User) == User(7)


@pytest.mark.parametrize(
    ("value", "annotation", "path"),
    [
        (True, int, "$"),
        (1, bool, "$"),
        ([1, "2"], list[int], "$[1]"),
        ({"id": "7"}, User, "$.id"),
        ({"n": -1}, Picky, "$"),
        ([{"at": 3.5, "raw": []}], list[Model], "$[0]"),
        ("green", Color, "$"),
    ],
)
def test_decoding_by_annotation_is_strict(value: Any, annotation: Any, path: str) -> None:
    assert refusal(codec.decode, json.dumps(value).encode(), annotation).path == path


def test_arguments_are_checked_against_their_annotations() -> None:
    types = (int, list[User], Any)
    names = ("amount", "users", "note")

    codec.check_arguments((1, [User(1)], {"any": (1,)}), types, names, what="Workflow 'order'")
    codec.check_arguments((1,), types, names, what="Workflow 'order'")

    def refused(*args: Any) -> tuple[str, str]:
        error = refusal(codec.check_arguments, args, types, names, what="Workflow 'order'")
        return error.path, str(error)

    assert refused("1") == ("$.amount", "Workflow 'order': Expected int, got str at $.amount.")
    assert refused(True)[0] == "$.amount"
    assert refused(1, [User("x")])[0] == "$.users[0].id"  # type: ignore[arg-type]
    assert refused(1, (User(1),))[1] == (
        "Workflow 'order': $.users is a tuple, which would arrive as a list: list[User] was expected."
    )
    assert refused(1, [Admin(1)])[0] == "$.users[0]"
    assert refused(1, [], User(1))[1] == (
        "Workflow 'order': $.note is a User but declares no type; it would arrive as a dict. Declare one."
    )
    assert refused(1, [], [object()])[0] == "$.note[0]"
    assert refused(1, [], float("nan")) == ("$.note", "Workflow 'order': non-finite number at $.note.")


def test_usable_tells_what_can_be_restored() -> None:
    restored: list[Any] = [Any, int, User, list[User | None], Model, dict[str, Model], Cat | Dog, None, object]
    lost: list[Any] = [User | Picky, complex, socket.socket, list[socket.socket], "int", str | Color, Odd]

    assert [annotation for annotation in restored if not usable(annotation)] == []
    assert [annotation for annotation in lost if usable(annotation)] == []
    assert usable(Annotated[int, ["unhashable"]])


def test_a_tzinfo_or_a_property_that_raises_is_a_refusal() -> None:
    class Broken(datetime.tzinfo):
        def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
            raise RuntimeError

        def dst(self, when: datetime.datetime | None) -> None: ...

        def tzname(self, when: datetime.datetime | None) -> None: ...

    assert refusal(codec.encode, datetime.datetime(2026, 1, 1, tzinfo=Broken())).reason == "not_serializable"
    user = User(1)
    del user.id
    assert refusal(codec.encode, [user]).path == "$[0]"


def test_text_of_any_exception_is_safe() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            sys.exit("no")

    assert safe_text(ValueError("plain")) == "plain"
    assert safe_text(ValueError("a\0\ud800\ufffe")) == "a\\x00\\ud800\\ufffe"
    assert safe_text(Hostile()) == "<Hostile whose text cannot be read: SystemExit>"
    assert len(safe_text(ValueError("é" * 10**6)).encode()) <= 8 * 1024
    codec.encode(safe_text(ValueError("\0" * 9000)))
