"""Is everything refused that is not just as it should be, with one shape of error, and does the server go on?"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from tests.integration.server.live import listening
from tests.integration.server.site import BASE, DEFAULT, Site, error_of
from windlass.errors import Unavailable
from windlass.model.access import Role
from windlass.server.http.guard import SAFE

RUNS = f"{DEFAULT}/runs"
JSON = {"content-type": "application/json"}


@pytest.fixture
async def client(memory_site: Site) -> httpx.AsyncClient:
    return await memory_site.client(Role.OPERATOR)


async def test_every_answer_bears_the_headers_of_safety(client: httpx.AsyncClient) -> None:
    for answer in (await client.get(RUNS), await client.get("/nothing"), await client.get("/healthz")):
        for name, value in SAFE:
            assert answer.headers[name.decode()] == value.decode()
        assert answer.headers["x-request-id"].startswith("req_")
        assert not {"server", "access-control-allow-origin"} & set(answer.headers)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "invalid_json"),
        (b"null", "invalid_input"),
        (b"[]", "invalid_input"),
        (b'{"workflow": "order"} x', "invalid_json"),
        (b'\xef\xbb\xbf{"workflow": "order"}', "invalid_json"),
        (b"{'workflow': 'order'}", "invalid_json"),
        (b'{"workflow": "order" /* no */}', "invalid_json"),
        (b'{"workflow": "order", "workflow": "order"}', "invalid_json"),
        (b'{"workflow": "order", "args": [{"a": 1, "a": 2}]}', "invalid_json"),
        (b'{"workflow": "order", "args": [NaN]}', "invalid_json"),
        (b'{"workflow": "order", "args": [1e999]}', "invalid_json"),
        (b'{"workflow": "order", "args": [' + b"1" * 5_000 + b"]}", "invalid_json"),
        (b'{"workflow": "order", "args": ["\\ud800"]}', "invalid_text"),
        (b'{"workflow": "order", "args": ["\xff"]}', "invalid_text"),
        (b'{"workflow": "order", "args": ["\\u0000"]}', "invalid_text"),
        (b'{"workflow": "order", "args": ["\xef\xbf\xbe"]}', "invalid_text"),
        (b'{"workflow": "order", "args": 7}', "invalid_input"),
        (b'{"workflow": "order", "color": "red"}', "invalid_input"),
        (b'{"workflow": "order", "priority": true}', "invalid_input"),
        (b'{"workflow": "order", "priority": "1"}', "invalid_input"),
        (b'{"workflow": "order", "priority": 1.5}', "invalid_input"),
        (b'{"workflow": "order", "priority": 11}', "invalid_input"),
        (b'{"workflow": "order", "at": "2026-02-30T00:00:00Z"}', "invalid_input"),
        (b'{"workflow": "order", "at": "2026-02-01T00:00:00"}', "invalid_input"),
        (b'{"workflow": "order", "at": "0001-01-01T00:00:00Z"}', "invalid_time"),
        (b'{"workflow": "order", "at": 5}', "invalid_input"),
        (b'{"workflow": "order", "delay_secs": -1}', "invalid_input"),
        (b'{"workflow": "order", "delay_secs": 1e12}', "invalid_input"),
        (b'{"workflow": "order", "timeout_secs": 0}', "invalid_input"),
        (b'{"workflow": "order", "delay_secs": 1, "at": "2030-01-01T00:00:00Z"}', "invalid_option"),
        (b'{"workflow": ""}', "invalid_input"),
        (b'{"workflow": "' + b"x" * 201 + b'"}', "invalid_input"),
        (b'{"workflow": "../x"}', "invalid_name"),
        (b'{"workflow": "a\\nb"}', "invalid_name"),
        (b'{"workflow": "order", "key": " x"}', "invalid_key"),
        (b'{"workflow": "order", "key": "' + b"k" * 256 + b'"}', "invalid_input"),
        (b'{"workflow": "order", "run_id": "run_1"}', "invalid_input"),
    ],
)
@pytest.mark.spec("security:3", "security:16", "security:18", "security:21", "security:22", "security:35")
async def test_a_body_that_is_not_as_it_should_be(client: httpx.AsyncClient, content: bytes, reason: str) -> None:
    known = content.replace(b"}", b', "allow_unknown": true}', 1) if content.endswith(b"}") else content
    answer = await client.post(RUNS, content=known if reason != "invalid_json" else content, headers=JSON)

    assert (answer.status_code, error_of(answer)["reason"]) == (400, reason), answer.text
    assert (await client.get(RUNS)).json()["runs"] == []  # nothing was written


@pytest.mark.spec("security:28", "security:S-13")
async def test_depth_is_limited_and_never_recursed_into(client: httpx.AsyncClient) -> None:
    def nested(depth: int) -> bytes:
        return b'{"workflow": "order", "allow_unknown": true, "args": ' + b"[" * depth + b"]" * depth + b"}"

    for depth, status in ((64, 200), (65, 400), (200, 400), (200_000, 400), (1_900_000, 400)):
        answer = await client.post(RUNS, content=nested(depth), headers=JSON)
        assert answer.status_code == status, (depth, answer.text)
        if status == 400:
            assert "depth > 64" in error_of(answer)["message"]


@pytest.mark.spec("security:29", "security:30", "security:S-13")
async def test_sizes_are_limited(client: httpx.AsyncClient) -> None:
    def body(size: int) -> dict[str, Any]:
        return {"workflow": "order", "allow_unknown": True, "args": ["x" * size]}

    limit = 2 * 1024 * 1024 - len('{"$tuple":[""]}')
    assert (await client.post(RUNS, json=body(limit))).status_code == 200
    over = await client.post(RUNS, json=body(limit + 1))
    assert (over.status_code, error_of(over)["reason"]) == (400, "payload_too_large")
    whole = json.dumps(body(0)).encode()
    most = 4 * 1024 * 1024 - len(whole)
    assert (await client.post(RUNS, content=whole + b" " * most, headers=JSON)).status_code == 200
    too_large = await client.post(RUNS, content=whole + b" " * (most + 1), headers=JSON)
    assert (too_large.status_code, error_of(too_large)["code"]) == (413, "payload_too_large")

    async def endless() -> Any:  # without a length: counted while it comes
        yield whole
        while True:
            yield b" " * 65_536

    assert (await client.post(RUNS, content=endless(), headers=JSON)).status_code == 413
    keys = {f"k{n}": 1 for n in range(400_000)}
    many = await client.post(RUNS, json=body(0) | {"args": [keys]})
    assert many.status_code in (400, 413)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/json, text/plain"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-type": "application/json", "content-encoding": "br"},
    ],
)
@pytest.mark.spec("security:36", "security:S-14", "security:S-19")
async def test_only_plain_json_is_read(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post(RUNS, content=b'{"workflow": "order", "allow_unknown": true}', headers=headers)

    assert (answer.status_code, error_of(answer)["code"]) == (415, "unsupported_media_type")
    assert (await client.get(RUNS)).json()["runs"] == []


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'])
async def test_json_may_name_its_letters(client: httpx.AsyncClient, kind: str) -> None:
    content = b'{"workflow": "order", "allow_unknown": true}'

    assert (await client.post(RUNS, content=content, headers={"content-type": kind})).status_code == 200


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"), ("limit=-1", "limit"), ("limit=501", "limit"), ("limit=1000000000", "limit"),
        ("limit=abc", "limit"), ("limit=1.5", "limit"), ("limit=", "limit"), ("limit=%EF%BC%91", "limit"),
        ("limit=1_0", "limit"), ("limit=5&limit=5", "limit"), ("before=x", "before"),
        ("before=run_1' OR 1=1--", "before"), ("sort=created_at", "sort"), ("sort=id;drop table runs", "sort"),
        ("status=done", "status"), ("created_after=yesterday", "created_after"), ("queue=%00", "queue"),
        ("queue=%ff", "queue"), ("parent=run_x", "parent"), ("%00=1", "\x00"), ("limit", "limit"),
    ],
)  # fmt: skip
@pytest.mark.spec("security:92", "security:94", "security:S-22")
async def test_a_query_that_is_not_as_it_should_be(client: httpx.AsyncClient, query: str, path: str) -> None:
    answer = await client.get(f"{RUNS}?{query}")

    assert answer.status_code == 400, answer.text
    assert error_of(answer)["path"] in (path, "query")


@pytest.mark.parametrize("text", ["a%25", "a_", "a'--", "a\\", "a.*", "(a+)+", "x" * 200])
@pytest.mark.spec("security:93", "security:S-36")
async def test_filters_are_taken_literally(client: httpx.AsyncClient, text: str) -> None:
    for workflow in ("ab", "a", "aaa"):
        await client.post(RUNS, json={"workflow": workflow, "allow_unknown": True})

    answer = await client.get(RUNS, params={"workflow": text})

    assert answer.status_code == 400 or answer.json()["runs"] == []


@pytest.mark.spec("security:92", "security:S-23", "security:96")
@pytest.mark.parametrize("cursor", ["garbage", "x" * 500, "' OR 1=1", "v1.AAAA", "0"])
async def test_a_cursor_that_is_none(client: httpx.AsyncClient, cursor: str) -> None:
    for path in ("feed", "feed/stream"):
        answer = await client.get(f"{DEFAULT}/{path}", params={"cursor": cursor})
        assert (answer.status_code, error_of(answer)["reason"]) == (400, "invalid_cursor"), path


@pytest.mark.parametrize(
    "path",
    [
        "/v1/namespaces/default/../default/runs", "/v1/namespaces/default//runs", "/v1/namespaces/default%2fruns",
        "/v1/namespaces/default/runs%00", "/v1/namespaces/%2e%2e/runs", "/v1/namespaces/default/runs/%252e%252e",
        "/v1/namespaces/default/runs/", "/V1/namespaces/default/runs", "/v1/namespaces/default/runs;x=1",
        "/v1/namespaces/default/runs\\x", "/v1/namespaces/%ff/runs", "/v1/namespaces/%ef%bf%be/runs", "/", "/v1",
        "/etc/passwd", "/v1/namespaces/default/runs/..%5c..%5csecret", "/v1/namespaces/%0d%0ax/runs",
    ],
)  # fmt: skip
@pytest.mark.spec("security:94", "security:S-24", "security:S-05")
async def test_a_path_in_disguise_leads_nowhere(memory_site: Site, path: str) -> None:
    assert await memory_site.raw(path.encode(), await memory_site.token(Role.ADMIN, namespace="*")) == 404


@pytest.mark.spec("security:10", "security:94")
async def test_ids_and_names_in_paths_are_checked(client: httpx.AsyncClient) -> None:
    for path in ("runs/run_x", "runs/RUN_" + "0" * 26, "runs/run_%20", "schedules/a%20b", "schedules/%E2%80%AEx"):
        answer = await client.get(f"{DEFAULT}/{path}")
        assert answer.status_code == 400, path
        assert error_of(answer)["reason"] in ("invalid_id", "invalid_name")
    assert (await client.get(f"{DEFAULT}/runs/" + "x" * 3_000)).status_code == 414
    assert (await client.get(f"{RUNS}?workflow=" + "x" * 9_000)).status_code == 414


@pytest.mark.spec("security:95")
async def test_other_methods_are_refused_with_those_there_are(client: httpx.AsyncClient) -> None:
    for method in ("HEAD", "OPTIONS", "TRACE", "PATCH", "PUT", "CONNECT", "FOO"):
        answer = await client.request(method, RUNS)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST"), method
    override = await client.post(RUNS, json={"workflow": "order"}, headers={"x-http-method-override": "GET"})
    assert override.status_code == 404  # it was a start, of a workflow nobody knows
    assert (await client.request("GET", RUNS, content=b"{}")).status_code == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "localhost.", "evil@localhost", "", "169.254.169.254", "127.1"]
)
@pytest.mark.spec("security:S-17", "security:S-37")
async def test_a_host_that_is_not_ours_is_refused_before_anything(client: httpx.AsyncClient, host: str) -> None:
    for path in (RUNS, "/healthz", "/nothing"):
        answer = await client.get(path, headers={"host": host})
        assert (answer.status_code, error_of(answer)["code"]) == (421, "misdirected")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7421", "127.0.0.1:7421", "[::1]:7421", "127.8.8.8", "my.host:1"]
)
async def test_hosts_that_are_ours(memory_site: Site, host: str) -> None:
    site = Site(memory_site.opened, memory_site.clock, allowed_hosts=("my.host",))

    assert (await site.asker().get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
        {"origin": "http://localhost:7421.evil.example"}, {"origin": "http://localhost:9999"},
        {"origin": "https://good.example.evil"},
    ],
)  # fmt: skip
@pytest.mark.spec("security:S-19", "security:S-20", "security:S-37")
async def test_a_page_of_somebody_else_may_not_ask(memory_site: Site, headers: dict[str, str]) -> None:
    site = Site(memory_site.opened, memory_site.clock, allowed_origins=("https://good.example",))
    client = await site.client(Role.OPERATOR)
    body = {"workflow": "order", "allow_unknown": True}

    posted = await client.post(RUNS, json=body, headers=headers)
    read = await client.get(RUNS, headers=headers)
    preflight = await client.options(RUNS, headers=headers | {"access-control-request-method": "POST"})

    assert (posted.status_code, read.status_code, preflight.status_code) == (403, 403, 405)
    assert not [name for name in {**posted.headers, **preflight.headers} if name.startswith("access-control")]
    for good in ({"origin": "https://good.example", "sec-fetch-site": "cross-site"}, {"origin": BASE}, {}):
        assert (await client.post(RUNS, json=body, headers=good)).status_code == 200


@pytest.mark.spec("security:95")
async def test_what_contradicts_itself_is_refused_and_the_connection_closed(memory_site: Site) -> None:
    head = "POST /v1/keys HTTP/1.1\r\nHost: localhost\r\n"
    contradictions = [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "Content-Length: -5\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ]
    async with listening(memory_site) as port:
        for wrong in contradictions:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write((head + wrong).encode())
            async with asyncio.timeout(20):
                answer = await reader.read()  # until it is closed
            writer.close()
            status = int(answer.split(b" ")[1])
            assert status in (400, 501), answer
            assert answer.count(b"HTTP/1.1") == 1  # nothing behind it was taken for a request


@pytest.mark.spec("security:S-30")
async def test_what_nobody_foresaw_is_told_to_the_log_only(
    memory_site: Site, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("select * from runs -- /var/lib/secret.db")

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise Unavailable("connection to postgresql://ann@db.internal lost")

    for part, status in ((Broken(), 500), (Away(), 503)):
        memory_site.opened.runs = part  # type: ignore[assignment]
        with caplog.at_level(logging.WARNING):
            answer = await client.get(RUNS)
        error = error_of(answer)
        assert answer.status_code == status
        assert not any(word in answer.text for word in ("select", "secret", "Traceback", "postgresql", "ann@"))
        assert error["request_id"] in caplog.text
    assert answer.headers["retry-after"] == "1"
