"""The user of a kubeconfig, without the client library of Kubernetes: tokens, token files and credential plugins."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import yaml

from raygate.documents import is_object
from raygate.errors import RaygateError
from raygate.tokens import ExecPlugin, TokenSource, file, static


@dataclass(frozen=True)
class Identity:
    """What a kubeconfig says of its user. The server that it names is the Kubernetes API server and is not used."""

    token: Optional[TokenSource]
    """None for a user who has none."""
    certificate: Optional[tuple[bytes, bytes]]
    """Client certificate and key as PEM, for gateways that ask for one."""
    namespace: str
    """Of the context; default when it names none."""


def identity(path: str | os.PathLike[str] | None = None, context: str | None = None) -> Identity:
    """Read the user of a kubeconfig: without a path of what kubectl reads, without a context of the current one.

    Raises RaygateError, naming the file and what is wrong in it.
    """
    files = [Path(path)] if path is not None else _default_files()
    merged: dict[str, dict[str, tuple[Path, dict[str, Any]]]] = {"contexts": {}, "users": {}}
    current = context or ""
    for each in files:
        config = _read(each)
        current = current or str(config.get("current-context") or "")
        for section, found in merged.items():
            entries: list[Any] = config.get(section) or []
            for entry in entries:
                if is_object(entry):
                    found.setdefault(str(entry.get("name")), (each, entry.get(section[:-1]) or {}))
    if current not in merged["contexts"]:
        raise RaygateError(f"{', '.join(map(str, files))}: there is no context {current!r}")
    _, chosen = merged["contexts"][current]
    name = str(chosen.get("user") or "")
    if name not in merged["users"]:
        raise RaygateError(f"{', '.join(map(str, files))}: context {current!r} names the user {name!r}, which is not there")
    where, user = merged["users"][name]
    return Identity(_token(user, where), _certificate(user, where), str(chosen.get("namespace") or "default"))


def _default_files() -> list[Path]:
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    files = [each for each in named if each.exists()] if named else [Path.home() / ".kube" / "config"]
    if not files:
        raise RaygateError("none of the files in $KUBECONFIG is there")
    return files


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RaygateError(f"reading kubeconfig: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)  # the text of the error may quote a token
        raise RaygateError(f"{path}: no YAML{f' in line {mark.line + 1}' if mark else ''}") from None
    if not is_object(config):
        raise RaygateError(f"{path}: no kubeconfig")
    return config


def _token(user: dict[str, Any], where: Path) -> Optional[TokenSource]:
    if user.get("tokenFile"):
        return file(where.parent / str(user["tokenFile"]))
    if user.get("token"):
        return static(str(user["token"]))
    plugin = user.get("exec")
    if is_object(plugin):
        command = str(plugin.get("command") or "")
        if os.sep in command:  # relative to the file, as client-go has it
            command = str(where.parent / command)
        variables: list[Any] = plugin.get("env") or []
        args: list[Any] = plugin.get("args") or []
        env = {str(each["name"]): str(each["value"]) for each in variables}
        return ExecPlugin(command, [str(arg) for arg in args], env, str(plugin.get("apiVersion")), str(plugin.get("installHint") or "").strip())
    if user.get("username") or user.get("auth-provider"):
        raise RaygateError(f"{where}: the user has a password or an auth-provider: the gateway takes tokens, and credential plugins give them")
    return None


def _certificate(user: dict[str, Any], where: Path) -> Optional[tuple[bytes, bytes]]:
    parts: list[bytes] = []
    for name in ("client-certificate", "client-key"):
        if user.get(name + "-data"):
            parts.append(base64.b64decode(str(user[name + "-data"])))
        elif user.get(name):
            parts.append((where.parent / str(user[name])).read_bytes())
    return (parts[0], parts[1]) if len(parts) == 2 else None
