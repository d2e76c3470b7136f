"""Where a server may listen, and what is said if it may not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from windlass.errors import InvalidInput
from windlass.server.listening import TRUSTED, bind, check_bind, refuse_taken
from windlass.server.tls import load_certificate


@pytest.mark.spec("security:S-01", "security:S-02")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "windlass.example.org", "localhost.example.org"])
def test_an_address_others_reach_needs_tls_or_a_long_word(host: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_bind(host, has_tls=False, is_trusted=False)

    for fix in ("--tls-certificate", "--tls-key", "127.0.0.1", TRUSTED):
        assert fix in str(refused.value)
    check_bind(host, has_tls=True, is_trusted=False)
    check_bind(host, has_tls=False, is_trusted=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_this_machine_needs_no_tls(host: str) -> None:
    check_bind(host, has_tls=False, is_trusted=False)


@pytest.mark.spec("security:100")
def test_a_port_that_is_taken_is_said_in_a_line() -> None:
    with bind("127.0.0.1", 0, setting="server.http_port") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=rf"^Port {port} of 127\.0\.0\.1 is in use.* \(--http-port\)") as refused:
            bind("127.0.0.1", port, setting="server.http_port")
        with pytest.raises(InvalidInput, match=r"server\.grpc_port \(--grpc-port\)"):
            refuse_taken("127.0.0.1", port, setting="server.grpc_port")

    assert refused.value.path == "server.http_port"
    refuse_taken("127.0.0.1", port, setting="server.grpc_port")  # it is free again at once


def test_a_port_is_free_again_although_a_connection_of_before_lingers() -> None:
    with bind("127.0.0.1", 0, setting="server.http_port") as first:
        first.setblocking(True)
        address = first.getsockname()
        with socket.create_connection(address), first.accept()[0] as served:
            served.close()  # by the server first, as when it stops

    bind(*address, setting="server.http_port").close()


@pytest.mark.spec("security:100")
@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_that_is_not_this_one_is_said_in_a_line(host: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be had: .* server\.host \(--host\)"):
        bind(host, 0, setting="server.http_port")


class Files:
    """Certificates in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, trustme.CA()

    def make(self, name: str) -> tuple[str, str]:
        made = self.authority.issue_cert("localhost")
        chain, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        made.cert_chain_pems[0].write_to_path(chain)
        made.private_key_pem.write_to_path(key)
        return str(chain), str(key)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_certificate_and_its_key_are_read(files: Files) -> None:
    chain, key = files.make("server")

    certificate = load_certificate(chain, key)

    assert certificate is not None
    assert (certificate.chain, certificate.key) == (Path(chain).read_bytes(), Path(key).read_bytes())
    assert "PRIVATE" not in repr(certificate)
    assert certificate.context.minimum_version.name == "TLSv1_2"
    assert load_certificate(None, None) is None


@pytest.mark.spec("security:100")
def test_files_that_cannot_be_used_are_named_with_the_setting(files: Files, tmp_path: Path) -> None:
    chain, key = files.make("server")
    _, other = files.make("other")
    missing, folder, broken = str(tmp_path / "missing.pem"), str(tmp_path), tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n")
    locked = tmp_path / "locked.key"
    locked.write_bytes(encrypted(key))

    for given, setting, text in (
        ((chain, None), "server.tls_key", "TLS needs both"),
        ((None, key), "server.tls_certificate", "TLS needs both"),
        ((missing, key), "server.tls_certificate", "No such file"),
        ((chain, missing), "server.tls_key", "No such file"),
        ((folder, key), "server.tls_certificate", "Is a directory"),
        ((chain, other), "server.tls_key", "is not the key of the certificate"),
        ((key, chain), "server.tls_certificate", "holds no certificate"),
        ((chain, chain), "server.tls_key", "holds no private key"),
        ((str(broken), key), "server.tls_certificate", "cannot be used"),
        ((chain, str(locked)), "server.tls_key", "is encrypted"),
    ):
        with pytest.raises(InvalidInput) as refused:
            load_certificate(*given)
        assert refused.value.path == setting
        assert text in str(refused.value)
        assert "\n" not in str(refused.value) and "hunter2" not in str(refused.value)


def encrypted(key: str) -> bytes:
    plain = serialization.load_pem_private_key(Path(key).read_bytes(), password=None)
    lock = serialization.BestAvailableEncryption(b"hunter2")
    return plain.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
