"""TLS: what a server shows, and to whom it is of no use."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.integration.server.process import PATIENCE, ServerProcess


class Secured:
    """A server with a certificate for "localhost", and those who know its authority."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        made = self.authority.issue_cert("localhost")
        chain, key = folder / "server.pem", folder / "server.key"
        chain.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
        made.private_key_pem.write_to_path(key)
        self.server = ServerProcess(
            folder,
            "--host",
            "0.0.0.0",
            "--tls-certificate",
            str(chain),
            "--tls-key",
            str(key),
            "--allowed-host",
            "localhost",
        )
        self.said = self.server.until_serving()
        self.https_url = f"https://localhost:{self.server.http_port}"

    def context(self, authority: trustme.CA | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        (authority or self.authority).configure_trust(context)
        return context

    def channel(self, authority: trustme.CA | None = None) -> grpc.Channel:
        root = (authority or self.authority).cert_pem.bytes()
        credentials = grpc.ssl_channel_credentials(root_certificates=root)
        return grpc.secure_channel(f"localhost:{self.server.grpc_port}", credentials)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = Secured(tmp_path_factory.mktemp("tls"))
    yield secured
    secured.server.close()


def check(channel: grpc.Channel) -> int:
    with channel:
        health = health_pb2_grpc.HealthStub(channel)
        status: int = health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE).status
        return status


@pytest.mark.spec("security:S-02")
def test_with_a_certificate_it_listens_for_others(secured: Secured) -> None:
    assert secured.said["grpc"] == f"grpcs://0.0.0.0:{secured.server.grpc_port}"
    assert secured.said["http"] == f"https://0.0.0.0:{secured.server.http_port}"
    with secured.server.client(verify=secured.context(), url=secured.https_url) as client:
        assert client.get("/v1/namespaces/default/runs").json() == {"runs": [], "next": None}
    assert check(secured.channel()) == health_pb2.HealthCheckResponse.SERVING
    assert "in plain text" not in secured.server.stderr


@pytest.mark.spec("security:S-26", "security:S-27")
def test_who_does_not_know_its_authority_does_not_talk_to_it(secured: Secured) -> None:
    other = trustme.CA()

    asking = secured.server.client(verify=secured.context(other), url=secured.https_url)
    with asking as client, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        client.get("/healthz")
    with pytest.raises(grpc.RpcError) as refused:
        check(secured.channel(other))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.spec("security:S-26")
def test_plain_text_is_not_understood(secured: Secured) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://localhost:{secured.server.http_port}/healthz")
    with pytest.raises(grpc.RpcError):
        check(grpc.insecure_channel(f"localhost:{secured.server.grpc_port}"))


@pytest.mark.spec("security:S-26")
@pytest.mark.parametrize("which", ["grpc_port", "http_port"])
def test_what_is_older_than_tls_1_2_is_not_spoken(secured: Secured, which: str) -> None:
    port = getattr(secured.server, which)
    old = secured.context()
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.set_alpn_protocols(["h2"])
    with pytest.warns(DeprecationWarning):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    new = secured.context()
    new.set_alpn_protocols(["h2"])
    new.maximum_version = ssl.TLSVersion.TLSv1_2

    said_by_the_server = "EOF|ALERT"  # and not by our own side
    with socket.create_connection(("127.0.0.1", port)) as plain, pytest.raises(ssl.SSLError, match=said_by_the_server):
        old.wrap_socket(plain, server_hostname="localhost")
    plain = socket.create_connection(("127.0.0.1", port))
    with plain, new.wrap_socket(plain, server_hostname="localhost") as talking:
        assert talking.version() == "TLSv1.2"


def test_a_caller_that_begins_no_handshake_holds_nobody_up(secured: Secured) -> None:
    with socket.create_connection(("127.0.0.1", secured.server.http_port)) as silent:
        silent.sendall(b"\x16\x03")
        with secured.server.client(verify=secured.context(), url=secured.https_url) as client:
            assert client.get("/healthz").status_code == 200


@pytest.mark.spec("security:100")
@pytest.mark.parametrize("given", ["no key", "another key", "missing"])
def test_files_that_do_not_fit_are_said_in_a_line(tmp_path: Path, given: str) -> None:
    authority = trustme.CA()
    chain, key = tmp_path / "server.pem", tmp_path / "server.key"
    authority.issue_cert("localhost").cert_chain_pems[0].write_to_path(chain)
    authority.issue_cert("localhost").private_key_pem.write_to_path(key)
    options = {
        "no key": ["--tls-certificate", str(chain)],
        "another key": ["--tls-certificate", str(chain), "--tls-key", str(key)],
        "missing": ["--tls-certificate", str(chain), "--tls-key", str(tmp_path / "nowhere")],
    }

    server = ServerProcess(tmp_path, *options[given])
    try:
        assert server.wait() == 1
        assert "server.tls_key" in server.stderr
        assert server.stderr.count("\n") == 1
    finally:
        server.close()
