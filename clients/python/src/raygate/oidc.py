"""Gets tokens of an identity provider for a person (OpenID Connect), by the flows of a public client."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from raygate.addresses import is_loopback
from raygate.documents import is_object
from raygate.tokens import TokenError

_TIMEOUT = 30.0
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True)
class Tokens:
    """An answer of the provider."""

    id_token: str = field(repr=False)
    expiry: float
    """The end of the ID token, in seconds since 1970."""
    refresh_token: str = field(repr=False)
    """Renews the ID token; empty if the provider gave none."""
    name: str
    """The person: the address or name in the token, else its subject."""


class _Refused(TokenError):
    """The provider answers with an error; code is that of OAuth, if it has one."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Provider:
    """An identity provider, for one of its clients. Use it as a context manager. The errors of its methods are TokenErrors, which never have a token."""

    def __init__(self, issuer: str, client_id: str, client_secret: str, scopes: list[str]) -> None:
        self._issuer, self._client_id, self._scopes = issuer, client_id, scopes
        self._client = {"client_id": client_id, **({"client_secret": client_secret} if client_secret else {})}
        self._http = httpx.Client(timeout=_TIMEOUT)
        self._found: dict[str, Any] = {}

    def __enter__(self) -> Provider:
        try:
            self._discover()
        except BaseException:
            self._http.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def browser(self, port: int, show: Callable[[str], None], deadline: float) -> Tokens:
        """Log in by the page of the provider, which show gets, until the time.monotonic() of deadline. The browser has to run on this machine: the
        page leads back to it, at the port; 0 chooses a free one."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        with _Callback(state, port) as back:
            challenge = _base64url(hashlib.sha256(verifier.encode()).digest())
            asked = {
                "response_type": "code", "client_id": self._client_id, "redirect_uri": back.url, "scope": " ".join(self._scopes),
                "state": state, "nonce": nonce, "code_challenge": challenge, "code_challenge_method": "S256",
                "access_type": "offline",  # for which Google gives a token for the renewal, and all others for the scope offline_access
            }  # fmt: skip
            page = self._endpoint("authorization_endpoint")
            show(f"{page}{'&' if urlsplit(page).query else '?'}{urlencode(asked)}")
            answer = back.wait(deadline)
        if "code" not in answer:
            raise TokenError(f"the identity provider refuses: {answer.get('error_description') or answer.get('error')}")
        return self._fetch("fetching the token", nonce=nonce, grant_type="authorization_code", code=answer["code"], redirect_uri=back.url, code_verifier=verifier)

    def device(self, show: Callable[[str, str], None], deadline: float) -> Tokens:
        """Log in by a browser on any machine: show gets the address of a page and the code to enter there."""
        if "device_authorization_endpoint" not in self._found:
            raise TokenError("the identity provider has no login by a code: log in with device=False")
        asked = self._post("asking for a code", "device_authorization_endpoint", scope=" ".join(self._scopes))
        show(str(asked.get("verification_uri_complete") or asked.get("verification_uri")), str(asked.get("user_code")))
        pause = float(asked.get("interval") or 5)
        while time.monotonic() + pause < deadline:
            time.sleep(pause)
            try:
                return self._fetch("waiting for the login", grant_type=_DEVICE, device_code=str(asked.get("device_code")))
            except _Refused as refusal:
                if refusal.code == "slow_down":
                    pause += 5
                elif refusal.code != "authorization_pending":
                    raise
        raise TimeoutError

    def renew(self, refresh_token: str) -> Tokens:
        """Get a new ID token."""
        return self._fetch("renewing the login", grant_type="refresh_token", refresh_token=refresh_token)

    def _discover(self) -> None:
        try:
            answer = self._http.get(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
            answer.raise_for_status()
            found = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise TokenError(f"asking the identity provider: {error}") from error
        if not is_object(found) or found.get("issuer") != self._issuer:
            raise TokenError(f"asking the identity provider: it does not call itself {self._issuer}")
        self._found = found

    def _endpoint(self, name: str) -> str:
        """Return an endpoint. It has to be one by TLS, which is what proves that an answer is the provider's."""
        url = str(self._found.get(name) or "")
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise TokenError(f"the {name} of the identity provider is not an address with https://")
        return url

    def _fetch(self, doing: str, nonce: str = "", **form: str) -> Tokens:
        answer = self._post(doing, "token_endpoint", **form)
        if not isinstance(answer.get("id_token"), str):
            raise TokenError("the identity provider gave no ID token: add the scope openid")
        claims = self._checked(answer["id_token"], nonce)
        name = claims.get("email") or claims.get("preferred_username") or claims.get("sub")
        return Tokens(answer["id_token"], float(claims["exp"]), str(answer.get("refresh_token") or ""), str(name))

    def _post(self, doing: str, endpoint: str, **form: str) -> dict[str, Any]:
        try:
            response = self._http.post(self._endpoint(endpoint), data={**self._client, **form}, headers={"Accept": "application/json"})
        except httpx.HTTPError as error:
            raise TokenError(f"{doing}: {error}") from error
        try:
            read = response.json()
        except ValueError:  # its text may have a token
            read = None
        answer: dict[str, Any] = read if is_object(read) else {}
        if not response.is_success or not answer:
            code = str(answer.get("error") or "")
            raise _Refused(code, f"{doing}: {answer.get('error_description') or code or f'the identity provider answers {response.status_code}'}")
        return answer

    def _checked(self, token: str, nonce: str) -> Mapping[str, Any]:
        """Return the claims of an ID token. It comes from the provider itself by TLS, so the signature need not be checked (OpenID Connect Core,
        3.1.3.7); the gateway does."""
        try:
            payload = token.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            audience, ends = claims["aud"], float(claims["exp"])
        except (ValueError, LookupError, TypeError):
            raise TokenError("checking the token: it is no ID token") from None
        if claims.get("iss") != self._issuer:
            raise TokenError("checking the token: it is from another issuer")
        if self._client_id not in (audience if isinstance(audience, list) else [audience]):
            raise TokenError("checking the token: it is for another client")
        if ends <= time.time():
            raise TokenError("checking the token: it has expired")
        if nonce and claims.get("nonce") != nonce:
            raise TokenError("the token belongs to another login")
        return claims  # type: ignore[no-any-return]


class _Callback:
    """A server on this machine that gets the answer of the provider. It ignores requests that do not belong to this login."""

    def __init__(self, state: str, port: int) -> None:
        answers: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                values = {name: value[0] for name, value in parse_qs(parts.query).items()}
                mine = parts.path == "/callback" and secrets.compare_digest(values.get("state", "").encode(), state.encode())
                text = b"You can close this page and return to your program.\n" if mine else b"Not found\n"
                self.send_response(200 if mine else 404)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                if mine:
                    answers.put(values)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the code out of logs."""

        self._answers = answers
        try:
            self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise TokenError(f"waiting for the browser: {error}") from error
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/callback"

    def __enter__(self) -> _Callback:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def wait(self, deadline: float) -> dict[str, str]:
        """Return what the provider answers. Raises TimeoutError."""
        try:
            return self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
