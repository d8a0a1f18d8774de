"""Tables for notebooks. All that is shown is escaped: names and messages come from whoever made the objects."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from typing import Any

Rows = tuple[Sequence[str], Sequence[Sequence[object]], str]
"""The heads of columns, the rows, and the text in place of no rows."""

# Notebooks align cells to the right, and lines of a log would run together.
_CELL = 'style="text-align: left; vertical-align: top; white-space: pre-wrap; overflow-wrap: break-word"'


def table(head: Sequence[str], rows: Sequence[Sequence[object]], nothing: str = "none") -> str:
    """Return a table as HTML; nothing is said in its place when it has no rows."""
    if not rows:
        return f"<p>{escape(nothing)}</p>"
    top = "".join(f"<th {_CELL}>{escape(each)}</th>" for each in head)
    body = "".join("<tr>" + "".join(f"<td {_CELL}>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


class Table:
    """A list that is a table in a notebook, and a frame of pandas."""

    @abstractmethod
    def _table(self) -> Rows:
        """Return the table."""

    def to_html(self) -> str:
        """Return the table as HTML, which notebooks show."""
        return table(*self._table())

    _repr_html_ = to_html

    def to_frame(self) -> Any:
        """Return the table as a pandas.DataFrame. It needs the package pandas."""
        head, rows, _ = self._table()
        return importlib.import_module("pandas").DataFrame(list(rows), columns=list(head))


def object_rows(manifests: Sequence[dict[str, Any]]) -> Rows:
    """Return a table of objects of Kubernetes."""
    return ["kind", "namespace", "name", "state", "created", "about"], [_row(each) for each in manifests], "no objects"


def _row(manifest: dict[str, Any]) -> list[object]:
    metadata, status = manifest.get("metadata", {}), manifest.get("status", {})
    state = status.get("state") or status.get("jobDeploymentStatus") or status.get("serviceStatus") or ""
    about = _about_cron_job(manifest)
    if "desiredWorkerReplicas" in status:
        about.append(f"{status.get('readyWorkerReplicas', 0)} of {status['desiredWorkerReplicas']} workers ready")
    about += [str(text) for text in (status.get("jobStatus"), status.get("message") or status.get("reason")) if text]
    return [manifest.get("kind", ""), metadata.get("namespace", ""), metadata.get("name", ""), state, metadata.get("creationTimestamp", ""), ", ".join(about)]


def _about_cron_job(manifest: dict[str, Any]) -> list[str]:
    spec, due = manifest.get("spec", {}), manifest.get("status", {}).get("nextScheduleTime")
    if "schedule" not in spec:
        return []
    return [spec["schedule"]] + (["suspended"] if spec.get("suspend") else [f"next {due}"] if due else [])
