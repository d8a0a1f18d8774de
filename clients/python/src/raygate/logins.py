"""Logins of a person at gateways, in the file that the command line `raygate` uses too."""

from __future__ import annotations

import base64
import importlib
import json
import os
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from raygate import oidc
from raygate.documents import is_object
from raygate.errors import RaygateError
from raygate.tokens import TokenError

FILE = "RAYGATE_LOGIN_FILE"
"""The variable that names the file, in place of raygate/login.json in the user's folder for configuration."""
TOKEN_STORE = "RAYGATE_TOKEN_STORE"
"""The variable that says where tokens are kept: file (the default), keyring, or auto."""
SCOPES = ["openid", "email", "profile", "offline_access"]
"""The default scopes. offline_access asks for a token to renew the others."""

_EARLY = 60.0  # seconds before its end that a token is renewed
_SERVICE = "raygate"  # of the entries in the keyring


@dataclass(frozen=True)
class Login:
    """A login at one gateway."""

    issuer: str
    client_id: str
    scopes: list[str] = field(default_factory=list[str])
    client_secret: str = field(default="", repr=False)
    """For providers that demand one of programs on the machines of users, where it is no secret; mostly empty."""
    id_token: str = field(default="", repr=False)
    expiry: float = 0.0
    """The end of the ID token, in seconds since 1970."""
    refresh_token: str = field(default="", repr=False)
    keyring: str = ""
    """The entry in the keyring of the system that has the tokens; empty if they are in the file."""

    def renewed(self) -> Login:
        """Return the login with a token that is valid: itself, unless the token ends soon. Raises TokenError."""
        if self.id_token and self.expiry - time.time() > _EARLY:
            return self
        if not self.refresh_token:
            raise TokenError("the login has ended: run raygate login, or raygate.login()")
        with self.provider() as provider:
            return self.having(provider.renew(self.refresh_token))

    def provider(self) -> oidc.Provider:
        """Return the identity provider."""
        return oidc.Provider(self.issuer, self.client_id, self.client_secret, self.scopes)

    def having(self, got: oidc.Tokens) -> Login:
        """Return the login with other tokens."""
        return replace(self, id_token=got.id_token, expiry=got.expiry, refresh_token=got.refresh_token or self.refresh_token)


class Store:
    """The file. Each gateway has a login of its own: a token is never sent to another one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def load(self, server: str) -> Optional[Login]:
        """Return the login at a gateway, without the tokens that are in the keyring; None if there is none."""
        entry = self._read().get(server)
        if entry is None:
            return None
        try:
            ends = entry.get("expiry")
            scopes: list[Any] = entry.get("scopes") or []
            return Login(
                issuer=str(entry["issuer"]),
                client_id=str(entry["clientID"]),
                client_secret=str(entry.get("clientSecret") or ""),
                scopes=[str(scope) for scope in scopes],
                id_token=str(entry.get("idToken") or ""),
                expiry=datetime.fromisoformat(ends.replace("Z", "+00:00")).timestamp() if ends else 0.0,
                refresh_token=str(entry.get("refreshToken") or ""),
                keyring=str(entry.get("keyring") or ""),
            )
        except (AttributeError, LookupError, TypeError, ValueError):
            raise self._broken("it has no login that can be read") from None

    def save(self, server: str, login: Optional[Login]) -> None:
        """Replace the login at a gateway; None removes it. Raises KeyringError, without a change, if the keyring cannot be used."""
        everything = self._read()
        before = everything.pop(server, None)
        old = str(before.get("keyring") or "") if is_object(before) else ""
        if login is None and old:
            _delete_from_keyring(old)  # first, so that the file names the entry until it is deleted
        if login is not None and login.keyring:
            _into_keyring(login)
        if login is not None:
            ends = datetime.fromtimestamp(int(login.expiry), timezone.utc).isoformat().replace("+00:00", "Z")
            entry = {"issuer": login.issuer, "clientID": login.client_id, "scopes": login.scopes, "expiry": ends}
            if login.client_secret:
                entry["clientSecret"] = login.client_secret
            if login.keyring:
                entry["keyring"] = login.keyring
            else:
                entry.update(idToken=login.id_token, refreshToken=login.refresh_token)
            everything[server] = entry
        self._write(json.dumps(everything, indent=2, sort_keys=True))
        if login is not None and old and login.keyring != old:
            try:
                _delete_from_keyring(old)
            except KeyringError:
                pass  # a keyring that cannot be used does not prevent another login

    def current(self, server: str) -> Optional[Login]:
        """Return the login at a gateway with a valid token, which is renewed if need be; None if there is no login."""
        login = self._with_tokens(server)
        if login is None:
            return None
        try:
            valid = login.renewed()
        except TokenError:
            # Another process may have used the token for the renewal first, and have stored a new one.
            again = self._with_tokens(server)
            if again is None or again == login:
                raise
            login, valid = again, again.renewed()
        if valid is not login:
            self.save(server, valid)
        return valid

    def _with_tokens(self, server: str) -> Optional[Login]:
        login = self.load(server)
        return _from_keyring(login) if login is not None and login.keyring else login

    def _read(self) -> dict[str, Any]:
        try:
            everything = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._broken(str(error.strerror)) from error
        except ValueError:  # the error has the text
            raise self._broken("it is no JSON") from None
        if not is_object(everything):
            raise self._broken("it is no JSON object")
        return everything

    def _broken(self, why: str) -> RaygateError:
        return RaygateError(f"reading logins from {self._path}: {why}; remove the file and log in again")

    def _write(self, text: str) -> None:
        """Replace the file at once, so that another process never reads half of it."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(prefix=".login-", dir=self._path.parent)  # for its owner only
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(path, self._path)
            except BaseException:
                os.unlink(path)
                raise
        except OSError as error:
            raise RaygateError(f"saving the login: {error}") from error


class LoginToken:
    """A TokenSource with the token of the login at a gateway, which it renews."""

    def __init__(self, store: Store, server: str) -> None:
        self._store, self._server = store, server
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            login = self._store.current(self._server)
        return login.id_token if login is not None else ""


def store(getenv: Mapping[str, str] = os.environ) -> Optional[Store]:
    """Return the store of the current user; None for a user without a home."""
    if getenv.get(FILE):
        return Store(getenv[FILE])
    folder = _configuration(getenv)
    return Store(folder / "raygate" / "login.json") if folder else None


def token_source(server: str, getenv: Mapping[str, str] = os.environ) -> Optional[LoginToken]:
    """Return what gives the token of the login at a gateway; None if there is no login."""
    logins = store(getenv)
    return LoginToken(logins, server) if logins is not None and logins.load(server) is not None else None


def login(
    server: Optional[str] = None,
    *,
    issuer_url: Optional[str] = None,
    client_id: Optional[str] = None,
    client_secret: Optional[str] = None,
    scopes: Optional[Sequence[str]] = None,
    device: bool = False,
    redirect_port: int = 0,
    timeout: float = 300.0,
    show: Optional[Callable[[str, str], None]] = None,
    token_store: Optional[str] = None,
) -> str:
    """Log in at a gateway with an identity provider, as `raygate login` does, and return who has logged in. Clients then use the login.

    server is the address as a Client gets it; without one it is that of the environment. The issuer and the client id have to be given for the
    first login at a gateway only, and so has the client secret, which few providers demand. With device the browser may run on any machine;
    else it returns to redirect_port of 127.0.0.1, a free one by default. show gets the address of a page and the code to enter there, which is
    empty without device; without show they are printed to standard error. timeout is in seconds. token_store is file, keyring or auto,
    by default $RAYGATE_TOKEN_STORE, or that of the last login, or file. Raises RaygateError.
    """
    logins, at = _mine(), _server(server)
    before = logins.load(at)
    wanted = before or Login("", "", SCOPES)
    if (issuer_url or wanted.issuer, client_id or wanted.client_id) != (wanted.issuer, wanted.client_id):
        wanted = Login(issuer_url or wanted.issuer, client_id or wanted.client_id, wanted.scopes)
    if not wanted.issuer or not wanted.client_id:
        raise RaygateError(f"this is the first login at {at}: give issuer_url and client_id")
    wanted = replace(wanted, client_secret=client_secret or wanted.client_secret, scopes=list(scopes or wanted.scopes or SCOPES), keyring="", refresh_token="")
    show = show or _print
    deadline = time.monotonic() + timeout
    try:
        with wanted.provider() as provider:
            got = provider.device(show, deadline) if device else provider.browser(redirect_port, lambda url: show(url, ""), deadline)
    except TimeoutError:
        raise TokenError(f"nobody logged in within {timeout:g} seconds") from None
    _save(logins, at, wanted.having(got), token_store or os.environ.get(TOKEN_STORE) or ("keyring" if before and before.keyring else "file"))
    return got.name


def logout(server: Optional[str] = None) -> None:
    """Forget the login at a gateway, on this machine. The session at the identity provider stays."""
    _mine().save(_server(server), None)


def _save(logins: Store, server: str, login: Login, where: str) -> None:
    if where not in ("file", "keyring", "auto"):
        raise RaygateError(f"{where!r} is no place for tokens: give file, keyring or auto")
    if where != "file":
        try:
            logins.save(server, replace(login, keyring=f"{server} {secrets.token_hex(8)}"))
            return
        except KeyringError:
            if where == "keyring":
                raise
    logins.save(server, login)


def _mine() -> Store:
    logins = store()
    if logins is None:
        raise RaygateError(f"finding the file with logins: there is no home; set ${FILE}")
    return logins


def _server(server: Optional[str]) -> str:
    found = server or os.environ.get("RAYGATE_SERVER") or os.environ.get("RAYGATE_GRPC") or os.environ.get("RAYGATE_URL")
    if not found:
        raise RaygateError("no address of a gateway was given: use server=, or $RAYGATE_SERVER")
    return found


def _configuration(getenv: Mapping[str, str]) -> Optional[Path]:
    """Return the folder for configuration, which is the one of Go's os.UserConfigDir."""
    home = getenv.get("HOME")
    if sys.platform == "win32":
        return Path(getenv["APPDATA"]) if getenv.get("APPDATA") else None
    if sys.platform == "darwin":
        return Path(home, "Library", "Application Support") if home else None
    if getenv.get("XDG_CONFIG_HOME"):
        return Path(getenv["XDG_CONFIG_HOME"])
    return Path(home, ".config") if home else None


def _print(url: str, code: str) -> None:
    print(f"Open this page in a browser{f' and enter the code {code}' if code else ''}:\n\n  {url}\n", file=sys.stderr, flush=True)


class KeyringError(RaygateError):
    """The keyring of the system cannot be used."""


def _keyring(call: str, *args: str) -> Any:
    """Call a function of the package keyring, an optional one."""
    try:
        keyring, errors = importlib.import_module("keyring"), importlib.import_module("keyring.errors")
    except ImportError:
        raise KeyringError("the keyring of the system needs a package: pip install raygate[keyring]") from None
    try:
        return getattr(keyring, call)(_SERVICE, *args)
    except errors.KeyringError as error:
        raise KeyringError(f"using the keyring of the system: {type(error).__name__}; use the token store file, and log in again") from error


def _into_keyring(login: Login) -> None:
    _keyring("set_password", login.keyring, json.dumps({"idToken": login.id_token, "refreshToken": login.refresh_token}))


def _from_keyring(login: Login) -> Login:
    text = _keyring("get_password", login.keyring) or "{}"
    encoded = text.removeprefix("go-keyring-base64:")  # as the command line writes it on macOS
    try:
        kept = json.loads(base64.b64decode(encoded) if encoded is not text else text)
        return replace(login, id_token=str(kept.get("idToken") or ""), refresh_token=str(kept.get("refreshToken") or ""))
    except (AttributeError, ValueError):
        raise KeyringError("the entry in the keyring of the system cannot be read: log in again") from None


def _delete_from_keyring(entry: str) -> None:
    """Delete an entry, if it is there."""
    if _keyring("get_password", entry) is not None:
        _keyring("delete_password", entry)
