"""The certificate a server shows, and why it cannot be used."""

from __future__ import annotations

import ssl
from pathlib import Path

from msgspec import Struct

from windlass.errors import InvalidInput

CERTIFICATE, KEY = "server.tls_certificate", "server.tls_key"


class Certificate(Struct, frozen=True, kw_only=True):
    chain: bytes  # PEM, the server's own first
    key: bytes
    context: ssl.SSLContext

    def __repr__(self) -> str:
        return "Certificate(***)"


def load_certificate(chain: str | None, key: str | None) -> Certificate | None:
    """Read both files and see that they belong together; None if neither is named. Raises InvalidInput."""
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing, there = (CERTIFICATE, KEY) if chain is None else (KEY, CERTIFICATE)
        raise _refused(missing, f"{there} is set and {missing} is not: TLS needs both")
    chain_text, key_text = _read(chain, CERTIFICATE), _read(key, KEY)
    if b"BEGIN CERTIFICATE" not in chain_text:
        raise _refused(CERTIFICATE, f"{chain} holds no certificate in PEM form")
    if b"PRIVATE KEY" not in key_text:
        raise _refused(KEY, f"{key} holds no private key in PEM form")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(chain, key, password=_no_password)
    except _NeedsPassword:
        raise _refused(KEY, f"{key} is encrypted, and nobody is there to type its password") from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise _refused(KEY, f"{key} is not the key of the certificate in {chain}") from None
        raise _refused(CERTIFICATE, f"{chain} and {key} cannot be used: {error.reason or 'not readable'}") from None
    return Certificate(chain=chain_text, key=key_text, context=context)


class _NeedsPassword(Exception):
    pass


def _no_password() -> str:
    raise _NeedsPassword  # else OpenSSL would ask at the terminal


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise _refused(setting, f"{path} cannot be read: {why}") from None


def _refused(setting: str, text: str) -> InvalidInput:
    return InvalidInput(f"{text} ({setting}).", reason="invalid_config", path=setting)
