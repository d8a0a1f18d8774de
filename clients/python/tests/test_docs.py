"""Runs the examples of README.md and docs/python.md as they stand there, each page from top to bottom."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from conftest import IMAGE, RAY_VERSION, REPOSITORY, head, needs_gateway

import raygate


def examples(page):
    text = Path(REPOSITORY, page).read_text(encoding="utf-8")
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield text[: block.start(1)].count("\n"), block[1]


@needs_gateway
@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_examples_run(page, monkeypatch, tmp_path, capsys):
    found = list(examples(page))
    assert found, f"{page} has no example"
    config = tmp_path / "config"
    user = "token: " + os.environ["RAYGATE_TOKEN"] if os.environ.get("RAYGATE_TOKEN") else ""
    config.write_text("{current-context: c, contexts: [{name: c, context: {user: u, namespace: %s}}], users: [{name: u, user: {%s}}]}" % (os.environ["RAYGATE_NAMESPACE"], user))
    monkeypatch.setenv("KUBECONFIG", str(config))
    with raygate.Client() as client, contextlib.ExitStack() as stack:
        if not os.environ.get("RAYGATE_DEMO"):  # which says that there is such a cluster
            stack.enter_context(client.clusters.temporary({"metadata": {"name": "demo"}, "spec": head()}, progress=False))
        names = {"__name__": "example"}  # a reader has no more either
        for line, code in found:
            try:
                exec(compile("\n" * line + code.replace("rayproject/ray:2.52.0", IMAGE).replace("2.52.0", RAY_VERSION), page, "exec"), names)
            except Exception as error:
                error.add_note(f"in the example at {page}:{line + 1}") if hasattr(error, "add_note") else None
                raise
    assert "hello" in capsys.readouterr().out
