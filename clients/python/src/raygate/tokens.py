"""Where the bearer token of a call comes from."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

from raygate.documents import is_object
from raygate.errors import RaygateError

TokenSource = Callable[[], str]
"""Returns the token for a call; it is asked for each one, from any thread, and keeps what is expensive. An empty token sends none."""

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
"""Where Kubernetes mounts the token of a Pod's ServiceAccount."""


class TokenError(RaygateError):
    """There is no token to be had."""


def static(token: str) -> TokenSource:
    """Return a token that stays the same."""
    return lambda: token


def file(path: str | os.PathLike[str] = SERVICE_ACCOUNT) -> TokenSource:
    """Read the token from a file at each call, so that one that is rotated is seen. Without a path it is that of the Pod's ServiceAccount."""

    def read() -> str:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise TokenError(f"reading token: {error}") from error

    return read


class ExecPlugin:
    """A credential plugin of client-go: a program that prints an ExecCredential. Its token is kept until shortly before it ends."""

    _TIMEOUT = 60.0
    _EARLY = timedelta(seconds=30)

    def __init__(self, command: str, args: Sequence[str], env: Mapping[str, str], version: str, hint: str = "") -> None:
        self._command, self._args, self._env, self._version, self._hint = command, list(args), dict(env), version, hint
        self._lock = threading.Lock()
        self._token = ""
        self._until: Optional[datetime] = None

    def __call__(self) -> str:
        with self._lock:
            if not self._token or (self._until is not None and datetime.now(timezone.utc) > self._until - self._EARLY):
                self._refresh()
            return self._token

    def _refresh(self) -> None:
        status = self._run().get("status")
        token = status.get("token") if is_object(status) else None
        if not isinstance(token, str) or not token:
            raise TokenError(f"the credential plugin {self._command} gives no token: the gateway takes tokens only")
        ends = status.get("expirationTimestamp") if is_object(status) else None
        self._until = datetime.fromisoformat(ends.replace("Z", "+00:00")) if isinstance(ends, str) else None
        self._token = token

    def _run(self) -> dict[str, Any]:
        info = {"apiVersion": self._version, "kind": "ExecCredential", "spec": {"interactive": False}}
        env = {**os.environ, **self._env, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        try:
            ran = subprocess.run([self._command, *self._args], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=self._TIMEOUT, check=True)
            answer = json.loads(ran.stdout)
        except FileNotFoundError as error:
            raise TokenError(f"the credential plugin {self._command} is not there{': ' + self._hint if self._hint else ''}") from error
        except subprocess.CalledProcessError as error:
            raise TokenError(f"the credential plugin {self._command} ended with {error.returncode}: {error.stderr.decode(errors='replace').strip()}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TokenError(f"running the credential plugin {self._command}: {error}") from error
        except ValueError as error:  # its output may hold the token: it is in no message
            raise TokenError(f"the credential plugin {self._command} prints no JSON") from error.with_traceback(None)
        if not is_object(answer):
            raise TokenError(f"the credential plugin {self._command} prints no ExecCredential")
        return answer
