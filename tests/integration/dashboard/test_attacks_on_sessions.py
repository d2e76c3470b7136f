"""Can somebody else act through a session, end it, use up its link, or keep it alive when it should be over?"""

from __future__ import annotations

import re

import httpx
import pytest

from tests.integration.dashboard.office import SESSION, UI, Office, act, text_of
from tests.integration.server.site import BASE
from windlass.dashboard.session import cookie_name, form_token
from windlass.model.access import Role
from windlass.testing.harness import Harness

LOGIN, LOGOUT = "/ui/-/login", "/ui/-/logout"
ACTION = f"{UI}/queues/default/pause"
HOST = BASE.partition("//")[2]

# As other programs on this machine write them, whether or not they may.
FOREIGN = ('foo={"a": 1}', "x", '"', "path=/", "a[0]=1", "a=b c", "=x", "{}=1", "", "$Version=1", 'q="a\\"b"', "é=ü")


# Cookies


@pytest.mark.parametrize("other", FOREIGN)
@pytest.mark.parametrize("order", ["{other}; {own}", "{own}; {other}", "{other}; {own}; {other}", "{other};{own}"])
async def test_cookies_of_other_programs_sign_nobody_out(memory_office: Office, other: str, order: str) -> None:
    own = f"{SESSION}={await memory_office.token()}"

    cookie = order.format(other=other, own=own).encode()
    page = await memory_office.visitor().get(UI, headers=[(b"cookie", cookie)])

    assert page.status_code == 200


@pytest.mark.parametrize("other", FOREIGN)
async def test_a_header_of_other_programs_signs_nobody_out(memory_office: Office, other: str) -> None:
    own = f"{SESSION}={await memory_office.token()}"

    page = await memory_office.visitor().get(
        UI, headers=[(b"cookie", other.encode()), (b"cookie", own.encode()), (b"cookie", other.encode())]
    )

    assert page.status_code == 200


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("first", ["own", "wrong", ""])
async def test_two_cookies_of_our_name_are_no_session(memory_office: Office, first: str, is_split: bool) -> None:
    """One of them may have been set by whoever has another program on this machine."""
    token = await memory_office.token()
    values = {"own": [token, token], "wrong": ["wl_planted", token], "": ["", token]}[first]
    pairs = [f"{SESSION}={value}".encode() for value in values]
    headers = [(b"cookie", pair) for pair in (pairs if is_split else [b"; ".join(pairs)])]

    page = await memory_office.visitor().get(UI, headers=headers)

    assert page.status_code == 401
    assert "Sign in" in page.text


@pytest.mark.parametrize("name", ["windlass_session", "windlass_session_7422", "Windlass_Session_7421", f"{SESSION} "])
async def test_the_session_of_another_server_is_none_here(memory_office: Office, name: str) -> None:
    token = await memory_office.token()

    page = await memory_office.visitor().get(UI, headers=[(b"cookie", f"{name}={token}".encode())])

    assert page.status_code == 401


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:7421", "windlass_session_7421"),
        ("localhost", "windlass_session"),
        ("[::1]:17", "windlass_session_17"),
        ("[::1]", "windlass_session"),
        ("127.0.0.1:80", "windlass_session_80"),
        ("localhost:", "windlass_session"),
        ("localhost:٣", "windlass_session"),
        ("", "windlass_session"),
    ],
)
def test_the_name_of_the_cookie_has_the_port(host: str, name: str) -> None:
    assert cookie_name(host) == name


async def test_a_sign_in_at_another_port_sets_and_ends_the_cookie_of_that_port(memory_office: Office) -> None:
    token, visitor = await memory_office.token(), memory_office.visitor()
    there = {"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8000"}
    session = {"cookie": f"windlass_session_8000={token}"}

    signed_in = await visitor.post(LOGIN, data={"token": token}, headers=there)
    page = await visitor.get(UI, headers={**there, **session})
    out = await visitor.post(LOGOUT, data={"csrf": form_token(token)}, headers={**there, **session})

    assert signed_in.headers["set-cookie"].startswith(f"windlass_session_8000={token}; Path=/ui; ")
    assert page.status_code == 200
    assert out.headers["set-cookie"].startswith("windlass_session_8000=; Path=/ui; Max-Age=0")


# Methods


@pytest.mark.spec("security:S-42")
@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"sec-purpose": "prefetch"}),
        ("GET", {"sec-purpose": "prefetch;prerender"}),
    ],
)
async def test_who_only_looks_ahead_does_not_use_up_a_link(
    memory_office: Office, method: str, headers: dict[str, str]
) -> None:
    link = f"{LOGIN}?code={memory_office.links.make()}"

    ahead = await memory_office.visitor().request(method, link, headers=headers)
    used = await memory_office.visitor().get(link)

    assert (ahead.status_code, ahead.content, "set-cookie" in ahead.headers) == (204, b"", False)
    assert (used.status_code, SESSION in used.cookies) == (303, True)


@pytest.mark.spec("security:S-42")
async def test_a_link_is_in_no_referrer_and_not_in_the_address_that_follows(memory_office: Office) -> None:
    code = memory_office.links.make()

    used = await memory_office.visitor().get(f"{LOGIN}?code={code}")
    again = await memory_office.visitor().get(f"{LOGIN}?code={code}")

    assert [answer.headers["referrer-policy"] for answer in (used, again)] == ["no-referrer"] * 2
    assert [answer.headers["cache-control"] for answer in (used, again)] == ["no-store"] * 2
    assert used.headers["location"] == "/ui"
    assert code not in again.text


@pytest.mark.spec("security:95", "security:S-19")
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (UI, "GET, HEAD"),
        (f"{UI}/runs", "GET, HEAD"),
        ("/ui", "GET, HEAD"),
        (f"{UI}/live", "GET"),
        (LOGIN, "GET, HEAD, POST"),
        (LOGOUT, "GET, HEAD, POST"),
        ("/ui/-/static/live.js", "GET, HEAD"),
        (ACTION, "POST"),
    ],
)
async def test_other_methods_are_refused_with_those_that_are_not(
    memory_office: Office, path: str, allowed: str, method: str
) -> None:
    browser = await memory_office.signed_in()

    answer = await browser.request(method, path, headers={"origin": BASE})

    assert answer.status_code == 405
    assert sorted(answer.headers["allow"].split(", ")) == sorted(allowed.split(", "))
    assert f"This address takes {answer.headers['allow']}." in text_of(answer)


@pytest.mark.spec("security:95", "security:S-19")
@pytest.mark.parametrize("override", ["x-http-method-override", "x-method-override", "x-http-method", "accept"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_nothing_is_done_by_looking(memory_office: Office, method: str, override: str) -> None:
    token = await memory_office.token()
    browser = memory_office.visitor(token)

    answer = await browser.request(
        method, ACTION, params={"csrf": form_token(token), "_method": "POST"}, headers={override: "POST"}
    )

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert await memory_office.opened.control.list_gates("default") == ()


@pytest.mark.parametrize("path", [UI, f"{UI}/runs", "/ui", f"{UI}/live", "/ui/-/static/live.js"])
async def test_what_is_to_be_looked_at_takes_no_form(memory_office: Office, path: str) -> None:
    token = await memory_office.token()

    answer = await memory_office.visitor(token).post(path, data={"csrf": form_token(token)}, headers={"origin": BASE})

    assert answer.status_code == 405
    assert "POST" not in answer.headers["allow"]


async def test_a_look_at_the_head_has_all_but_the_body(memory_office: Office) -> None:
    browser = await memory_office.signed_in()

    answer = await browser.head(UI)

    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 1_000


# Forms


@pytest.mark.spec("security:S-19")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "same-site"},
        {"origin": "null", "sec-fetch-site": "none"},
        {},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "https://evil.example"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": "http://localhost"},
        {"origin": "http://localhost:7422"},
        {"origin": f"{BASE}.evil.example"},
        {"origin": f"{BASE}/"},
        {"origin": f"http://ann@{HOST}"},
        {"origin": f"ftp://{HOST}"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"origin": f"{BASE}, https://evil.example"},
        {"referer": f"{BASE}{UI}"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [ACTION, LOGIN, LOGOUT])
async def test_a_form_from_elsewhere_does_nothing(memory_office: Office, path: str, headers: dict[str, str]) -> None:
    token = await memory_office.token()
    browser = memory_office.asker()  # which says of its requests what stands in the headers, and no more
    browser.cookies.set(SESSION, token)

    answer = await browser.post(path, data={"csrf": form_token(token), "token": token}, headers=headers)

    assert answer.status_code == 403
    assert "This was sent from a page of another site" in text_of(answer)
    assert "set-cookie" not in answer.headers
    assert await memory_office.opened.control.list_gates("default") == ()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": BASE},
        {"origin": BASE, "sec-fetch-site": "same-origin"},
        {"origin": BASE.upper()},
        {"origin": f"https://{HOST}"},
        {"origin": f"https://{HOST}", "sec-fetch-site": "same-origin"},
        {"origin": "null", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "same-origin"},
    ],
    ids=str,
)
async def test_a_form_of_our_own_page_is_taken(memory_office: Office, headers: dict[str, str]) -> None:
    token = await memory_office.token()
    browser = memory_office.asker()
    browser.cookies.set(SESSION, token)

    answer = await browser.post(ACTION, data={"csrf": form_token(token)}, headers=headers)

    assert answer.status_code == 303


@pytest.mark.spec("security:S-19")
@pytest.mark.parametrize(("scheme", "is_secure"), [("http", False), ("https", True)])
async def test_behind_something_that_speaks_tls_the_cookie_is_for_tls_only(
    memory_office: Office, scheme: str, is_secure: bool
) -> None:
    token, visitor = await memory_office.token(), memory_office.visitor()

    answer = await visitor.post(LOGIN, data={"token": token}, headers={"origin": f"{scheme}://{HOST}"})

    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303
    assert ("; Secure" in cookie) is is_secure
    assert "; HttpOnly; SameSite=Strict" in cookie


@pytest.mark.spec("security:S-19")
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text/plain", b'{"csrf": "%s"}'),
        ("application/json", b'{"csrf": "%s"}'),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n%s\r\n--x--\r\n',
        ),
        ("", b"csrf=%s"),
        ("application/x-www-form-urlencoded", b"csrf=%s&note=%%ff"),
        ("application/x-www-form-urlencoded", b"csrf=%s&note=\xff"),
        ("application/x-www-form-urlencoded", b"csrf=%s&note=" + b"x" * 64 * 1024),
        ("application/x-www-form-urlencoded", b"csrf=%s" + b"&a=1" * 60),
    ],
    ids=["text", "json", "multipart", "none", "percent", "bytes", "large", "many"],
)
async def test_what_is_no_form_of_ours_does_nothing(memory_office: Office, kind: str, content: bytes) -> None:
    token = await memory_office.token()
    browser = memory_office.visitor(token)

    answer = await browser.post(
        ACTION, content=content % form_token(token).encode(), headers={"origin": BASE, "content-type": kind}
    )

    assert answer.status_code == 400
    assert await memory_office.opened.control.list_gates("default") == ()


@pytest.mark.spec("security:S-19")
async def test_the_form_of_another_session_of_the_same_person_does_nothing(memory_office: Office) -> None:
    ours, theirs = await memory_office.token(), await memory_office.token()

    answer = await memory_office.visitor(ours).post(ACTION, data={"csrf": form_token(theirs)}, headers={"origin": BASE})

    assert answer.status_code == 403
    assert "This form is not of your session" in text_of(answer)


@pytest.mark.parametrize("path", ["", "/runs", "/runs/run_x"])
async def test_pages_tell_only_themselves_where_somebody_comes_from(memory_office: Office, path: str) -> None:
    answer = await (await memory_office.signed_in()).get(UI + path)
    assert answer.headers["referrer-policy"] == "same-origin"


# Signing in and out


async def keys_of(office: Office) -> dict[str, bool]:
    """Every key, and whether it still opens."""
    keys = [*await office.opened.access.list_keys("*"), *await office.opened.access.list_keys("default")]
    return {key.note or "": key.revoked_at is None for key in keys}


async def by_link(office: Office) -> httpx.AsyncClient:
    answer = await office.visitor().get(f"{LOGIN}?code={office.links.make()}")
    return office.visitor(answer.cookies[SESSION])


async def test_signing_out_of_a_session_by_a_link_leaves_no_key_behind(memory_office: Office) -> None:
    browser = await by_link(memory_office)
    stolen = memory_office.visitor(browser.cookies[SESSION])
    before = await keys_of(memory_office)

    await act(browser, LOGOUT)
    memory_office.clock.advance("3s")  # type: ignore[attr-defined]

    assert before == {"signed in by a link": True}
    assert await keys_of(memory_office) == {"signed in by a link": False}
    assert (await stolen.get(UI)).status_code == 401


async def test_signing_out_of_a_session_with_an_own_token_leaves_the_token_as_it_is(memory_office: Office) -> None:
    token = await memory_office.token(Role.OPERATOR, note="of ann")
    browser = memory_office.visitor(token)

    await act(browser, LOGOUT)
    memory_office.clock.advance("3s")  # type: ignore[attr-defined]

    assert await keys_of(memory_office) == {"of ann": True}
    assert (await memory_office.visitor(token).get(UI)).status_code == 200


async def test_nobody_else_can_sign_somebody_out(memory_office: Office) -> None:
    browser = await by_link(memory_office)

    refused = await browser.post(LOGOUT, data={"csrf": "0" * 64}, headers={"origin": BASE})
    looked_at = await browser.get(LOGOUT)

    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    assert (looked_at.status_code, looked_at.headers["location"]) == (303, LOGIN)
    assert (await browser.get(UI)).status_code == 200


async def test_signing_out_of_a_session_that_is_over_forgets_it(memory_office: Office) -> None:
    browser = await by_link(memory_office)
    form = {"csrf": form_token(browser.cookies[SESSION])}
    memory_office.clock.advance("13h")  # type: ignore[attr-defined]

    answer = await browser.post(LOGOUT, data=form, headers={"origin": BASE})

    assert answer.status_code == 401
    assert "Max-Age=0" in answer.headers["set-cookie"]


async def test_the_key_of_a_worker_signs_nobody_in_and_says_why(memory_office: Office) -> None:
    token = await memory_office.token(Role.WORKER)

    answer = await memory_office.visitor().post(LOGIN, data={"token": token}, headers={"origin": BASE})
    page = await memory_office.visitor(token).get(UI)

    assert answer.status_code == 403
    assert "This key is not made for looking: it has none of the roles that may see runs." in text_of(answer)
    assert "set-cookie" not in answer.headers
    assert page.status_code == 403


@pytest.mark.parametrize("role", [Role.VIEWER, Role.CLIENT, Role.OPERATOR, Role.ADMIN])
async def test_whoever_may_see_runs_may_sign_in(memory_office: Office, role: Role) -> None:
    token = await memory_office.token(role)

    answer = await memory_office.visitor().post(LOGIN, data={"token": f" {token}\n"}, headers={"origin": BASE})

    assert answer.status_code == 303
    assert answer.headers["set-cookie"].startswith(f"{SESSION}={token};")


@pytest.mark.spec("security:S-28")
@pytest.mark.parametrize("token", ["wl_canary", "", "x; Path=/; Domain=evil.example", "a\r\nset-cookie: b=c", "é" * 90])
async def test_a_wrong_token_is_neither_said_nor_set(memory_office: Office, token: str) -> None:
    answer = await memory_office.visitor().post(LOGIN, data={"token": token, "next": UI}, headers={"origin": BASE})

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert not token or token not in answer.text
    assert re.search(r'name="next" value="/ui/default"', answer.text)


async def test_no_page_shows_the_token_it_was_asked_with(memory_harness: Harness, memory_office: Office) -> None:
    token = await memory_office.token(namespace="*")
    browser = memory_office.visitor(token)

    for path in ("", "/runs", "/workers", "/queues", "/namespaces", "/runs/run_x", "/nothing"):
        answer = await browser.get(UI + path)
        assert token.rpartition("_")[2] not in answer.text
