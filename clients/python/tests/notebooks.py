"""Checks the types of the notebooks and of the client with mypy and pyright, and runs the notebooks whose names are in $RAYGATE_NOTEBOOKS with the gateway
of the environment. It has another name than other tests, as it takes what notebooks/requirements.txt pins."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from conftest import REPOSITORY

CLIENT = Path(REPOSITORY, "clients", "python").resolve()
NOTEBOOKS = sorted((CLIENT / "notebooks").glob("*.ipynb"))
# The types of the client are checked by themselves, and Ray need not be there.
MYPY = f"""[mypy]
strict = true
mypy_path = {CLIENT / "src"}
[mypy-raygate.*]
ignore_errors = true
[mypy-ray.*]
ignore_missing_imports = true
[mypy-ray_notebook]
disallow_untyped_decorators = false
"""
RUN = os.environ.get("RAYGATE_NOTEBOOKS", "").split()


def code(path):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def check(*command, within):
    done = subprocess.run([sys.executable, "-m", *command], cwd=within, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def programs(tmp_path):
    """A folder with the notebooks as programs, in which a value at the end of a cell is shown."""
    for path in NOTEBOOKS:
        (tmp_path / f"{path.stem}_notebook.py").write_text("\n".join(code(path)))
    (tmp_path / "mypy.ini").write_text(MYPY)
    rules = {"typeCheckingMode": "strict", "extraPaths": [str(CLIENT / "src")], "reportUnusedExpression": False, "reportUnknownMemberType": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**rules, "include": ["."], "exclude": ["ray_notebook.py"]}))
    return tmp_path


def test_notebooks_have_no_output():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        assert all(not cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells), f"{path} has outputs: clear them"


def test_types_of_notebooks(programs):
    check("mypy", "--cache-dir", str(programs / ".mypy"), ".", within=programs)
    check("pyright", "--pythonpath", sys.executable, within=programs)


def test_types_of_the_client():
    check("pyright", "--pythonpath", sys.executable, within=CLIENT)


@pytest.mark.parametrize("name", RUN)
def test_notebook_runs(name):
    notebook = nbformat.read(CLIENT / "notebooks" / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    shown = json.dumps([cell.get("outputs") for cell in notebook.cells])
    wanted = {
        "clusters": ["RayCluster", "dataframe", "1 of 1 workers ready"],
        "jobs": ["the answer is 42", ": ready (", "SUCCEEDED", "ended as Failed"],
        "ray": ["14\\n", "42\\n"],
    }
    assert not [text for text in wanted[name] if text not in shown], shown
    assert "waits until it is ready" not in shown, "the progress is not replaced"
