"""Who gets to see a page or to do something on it: the same gate as everywhere, and nobody else's form."""

from __future__ import annotations

import pytest

from tests.integration.dashboard.office import SESSION, UI, Office, act, text_of
from tests.integration.server.site import BASE
from windlass.api.operations import OPERATIONS
from windlass.dashboard.asking import View
from windlass.dashboard.pages.table import VIEWS
from windlass.dashboard.rendering import POLICY
from windlass.dashboard.session import form_token
from windlass.model.access import Role
from windlass.model.namespace import CreateNamespace

IDS = {
    "run_id": "run_" + "0" * 26,
    "signal_id": "sig_" + "0" * 26,
    "worker_id": "wrk_" + "0" * 26,
    "input": "inp_" + "0" * 26,
    "name": "nightly",
}
ACTIONS = [view for view in VIEWS if view.method == "POST"]


def path_of(view: View, namespace: str = "default") -> str:
    return f"/ui/{namespace}" + view.path.format(**IDS)


def test_every_view_names_an_operation_of_the_table() -> None:
    assert {view.operation for view in VIEWS} <= set(OPERATIONS)
    assert len({(view.method, view.path) for view in VIEWS}) == len(VIEWS)
    assert all(OPERATIONS[view.operation].changes for view in ACTIONS)


@pytest.mark.spec("security:S-03", "security:S-04")
async def test_without_a_session_every_view_asks_to_sign_in(memory_office: Office) -> None:
    for view in VIEWS:
        visitor = memory_office.visitor()
        answer = await visitor.request(
            view.method, path_of(view), headers={"origin": BASE}, data={} if view.method == "POST" else None
        )
        assert answer.status_code == 401, view.path
        assert "Sign in" in answer.text
        assert answer.headers["content-security-policy"] == POLICY


async def test_a_viewer_may_look_and_do_nothing(memory_office: Office) -> None:
    token = await memory_office.token(Role.VIEWER)
    visitor = memory_office.visitor(token)
    fields = {"csrf": form_token(token)}
    for view in ACTIONS:
        answer = await visitor.post(path_of(view), data=fields, headers={"origin": BASE})
        assert answer.status_code == 403, view.path
        assert "This key may not do that" in text_of(answer)
    page = await visitor.get(UI)
    assert page.status_code == 200
    assert 'method="post"' in page.text  # to sign out
    assert page.text.count("<form") == 1


async def test_a_foreign_namespace_is_shut(memory_office: Office) -> None:
    await memory_office.opened.namespaces.create_namespace(CreateNamespace(name="other"))
    visitor = await memory_office.signed_in(Role.OPERATOR)
    for view in VIEWS:
        if view.method == "GET" and OPERATIONS[view.operation].of_namespace:
            answer = await visitor.get(path_of(view, "other"))
            assert answer.status_code == 403, view.path
            assert "not good for that namespace" in text_of(answer)


async def test_a_form_of_somebody_else_does_nothing(memory_office: Office) -> None:
    token = await memory_office.token()
    visitor = memory_office.visitor(token)
    right = {"csrf": form_token(token)}
    path = f"{UI}/queues/default/pause"

    refused = [
        await visitor.post(path, data={"note": "x"}, headers={"origin": BASE}),
        await visitor.post(path, data={"csrf": "0" * 64}, headers={"origin": BASE}),
        await visitor.post(path, data=right, headers={"origin": "https://evil.example"}),
        await visitor.post(path, data=right, headers={"origin": "null", "sec-fetch-site": "cross-site"}),
        await visitor.post(path, data=right, headers={"sec-fetch-site": "cross-site"}),
        await visitor.post(path, content=b'{"csrf": 1}', headers={"origin": BASE, "content-type": "application/json"}),
    ]

    assert [answer.status_code for answer in refused] == [403, 403, 403, 403, 403, 400]
    assert await memory_office.opened.control.list_gates("default") == ()
    assert (await visitor.post(path, data=right, headers={"origin": BASE})).status_code == 303
    assert len(await memory_office.opened.control.list_gates("default")) == 1


async def test_what_is_done_stands_in_the_audit_under_the_key(memory_office: Office) -> None:
    visitor = await memory_office.signed_in()

    done = await act(visitor, f"{UI}/queues/default/pause", note="too hot")

    assert (done.status_code, done.headers["location"]) == (303, f"{UI}/queues?done=queue-paused")
    (gate,) = await memory_office.opened.control.list_gates("default")
    (key,) = [key for key in await memory_office.opened.access.list_keys("default")]
    assert (gate.paused_by, gate.note) == (key.id, "too hot")


@pytest.mark.spec("security:S-42")
async def test_a_link_signs_in_once_and_not_for_long(memory_office: Office) -> None:
    code, late = memory_office.links.make(), memory_office.links.make()
    first = await memory_office.visitor().get(f"/ui/-/login?code={code}")
    again = await memory_office.visitor().get(f"/ui/-/login?code={code}")
    memory_office.clock.advance("11m")  # type: ignore[attr-defined]
    too_late = await memory_office.visitor().get(f"/ui/-/login?code={late}")

    assert (first.status_code, first.headers["location"]) == (303, "/ui")
    assert [again.status_code, too_late.status_code] == [401, 401]
    assert "has been used, or is too old" in again.text
    set_cookie = first.headers["set-cookie"]
    assert all(part in set_cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/ui", "Max-Age=43200"))
    assert code not in set_cookie
    assert first.headers["referrer-policy"] == "no-referrer"


async def test_a_session_by_a_link_ends_by_itself(memory_office: Office) -> None:
    answer = await memory_office.visitor().get(f"/ui/-/login?code={memory_office.links.make()}")
    token = answer.cookies[SESSION]
    visitor = memory_office.visitor(token)
    before = await visitor.get(UI)
    memory_office.clock.advance("13h")  # type: ignore[attr-defined]

    after = await visitor.get(f"{UI}/runs?status=failed")

    assert before.status_code == 200
    assert after.status_code == 401
    assert "You are signed out" in after.text
    assert 'value="/ui/default/runs?status=failed"' in after.text  # where to go on
    assert f'{SESSION}=""' in after.headers["set-cookie"] or f"{SESSION}=;" in after.headers["set-cookie"]


async def test_a_key_that_is_revoked_ends_its_sessions(memory_office: Office) -> None:
    visitor = await memory_office.signed_in()
    assert (await visitor.get(UI)).status_code == 200
    (key,) = await memory_office.opened.access.list_keys("default")
    await memory_office.opened.access.revoke_key(key.id)
    memory_office.clock.advance("3s")  # type: ignore[attr-defined]

    assert (await visitor.get(UI)).status_code == 401


async def test_signing_in_with_a_token(memory_office: Office) -> None:
    token, visitor = await memory_office.token(Role.VIEWER), memory_office.visitor()
    wrong = await visitor.post("/ui/-/login", data={"token": "wl_wrong", "next": UI}, headers={"origin": BASE})
    right = await visitor.post("/ui/-/login", data={"token": token, "next": f"{UI}/runs"}, headers={"origin": BASE})

    assert (wrong.status_code, "not accepted" in wrong.text) == (401, True)
    assert (right.status_code, right.headers["location"]) == (303, f"{UI}/runs")
    assert (await visitor.get(UI)).status_code == 200


@pytest.mark.parametrize(
    "next", ["https://evil.example/ui", "//evil.example", "/ui//evil.example", "/v1/runs", "/ui\\evil", "/uix", ""]
)
async def test_nobody_is_sent_elsewhere_after_signing_in(memory_office: Office, next: str) -> None:
    token = await memory_office.token()
    answer = await memory_office.visitor().post(
        "/ui/-/login", data={"token": token, "next": next}, headers={"origin": BASE}
    )
    assert answer.headers["location"] == "/ui"


async def test_signing_out_forgets_the_session_in_the_browser(memory_office: Office) -> None:
    visitor = await memory_office.signed_in()

    answer = await act(visitor, "/ui/-/logout")

    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/-/login")
    assert "Max-Age=0" in answer.headers["set-cookie"]


async def test_a_link_from_elsewhere_is_asked_for_once_more(memory_office: Office) -> None:
    """The browser keeps a strict cookie to itself when the click was on another site."""
    answer = await memory_office.visitor().get(f"{UI}/runs", headers={"sec-fetch-site": "cross-site"})

    assert answer.status_code == 200
    assert f'content="0;url={UI}/runs"' in answer.text


async def test_the_cookie_opens_no_other_door(memory_office: Office) -> None:
    visitor = await memory_office.signed_in()
    assert (await visitor.get("/v1/namespaces/default/runs")).status_code == 401


async def test_the_beginning_leads_to_the_pages(memory_office: Office) -> None:
    visitor = await memory_office.signed_in()
    assert (await visitor.get("/")).headers["location"] == "/ui"
    assert (await visitor.get("/ui")).headers["location"] == UI


@pytest.mark.parametrize("path", ["/ui/-/static/no.js", "/ui/-/static/..%2fapp.py", "/ui/default/nothing", "/ui/x/y/z"])
async def test_there_is_nothing_under_other_addresses(memory_office: Office, path: str) -> None:
    visitor = await memory_office.signed_in()
    assert (await visitor.get(path)).status_code == 404


@pytest.mark.parametrize("name", ["style.css", "live.js", "icon.svg"])
async def test_files_of_ours_need_no_session(memory_office: Office, name: str) -> None:
    answer = await memory_office.visitor().get(f"/ui/-/static/{name}")
    assert (answer.status_code, answer.headers["x-content-type-options"]) == (200, "nosniff")
