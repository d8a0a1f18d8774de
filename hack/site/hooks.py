"""Hooks of mkdocs: README.md, CONTRIBUTING.md and CHANGELOG.md become pages, names of pages become links, and files of the repository are linked where they are browsed.
The docstrings of the Python client become a page, too."""

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "https://github.com/raygate/raygate/blob/main/"
# Files at the root of the repository, and the pages that they are.
AT_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}

# The page with the docstrings of the Python client.
PYTHON_PAGE = "python-api.md"
# The parts of a client, which no program makes itself.
PARTS = {"clusters": "Clusters", "jobs": "Jobs", "resources": "Resources", "submissions": "Submissions", "history": "History"}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
NAMED_PAGE = re.compile(r"(?<![\[`])`((?:docs/)?[a-z-]+\.md|README\.md|CONTRIBUTING\.md)`(?![`\]])")
FENCE = re.compile(r"(^```.*?^```\s*$)", re.MULTILINE | re.DOTALL)


def on_files(files, config):
    for name, page in AT_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    files.append(File.generated(config, PYTHON_PAGE, content=python_page()))
    return files


def python_page():
    """The directives of mkdocstrings for what the package exports, and for the parts of a client."""
    tree = ast.parse((ROOT / "clients/python/src/raygate/__init__.py").read_text())
    (names,) = (ast.literal_eval(each.value) for each in tree.body if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == "__all__")
    shown = [f"raygate.{name}" for name in names if not name.startswith("Async") and name != "manifests"]
    shown += [f"raygate._sync.{module}.{name}" for module, name in PARTS.items()]
    return "# Python API\n\n`AsyncClient` has the same methods for asyncio.\n\n" + "".join(f"::: {name}\n\n" for name in shown)


def page_of(path):
    """The page that a file of the repository is, or None."""
    if path in AT_ROOT:
        return AT_ROOT[path]
    page = path.removeprefix("docs/")
    return page if path.startswith("docs/") and page.endswith(".md") else None


def on_page_markdown(markdown, page, config, files):
    at_root = {v: k for k, v in AT_ROOT.items()}
    here = posixpath.dirname(page.file.src_uri)
    folder = "" if page.file.src_uri in at_root else posixpath.join("docs", here)

    def link(match):
        picture, text, destination = match.groups()
        file, hash_, anchor = destination.partition("#")
        if not file or "://" in file or file.startswith("mailto:"):
            return match.group(0)
        path = posixpath.normpath(posixpath.join(folder, file))
        target = path.removeprefix("docs/") if picture else page_of(path)
        if target is None:
            if not (ROOT / path).exists():
                raise PluginError(f"{page.file.src_uri}: there is no {path}")
            return f"[{text}]({SOURCE}{path}{hash_}{anchor})"
        return f"{picture}[{text}]({posixpath.relpath(target, here)}{hash_}{anchor})"

    def named(match):
        target = page_of(match.group(1))
        return f"[{title(target)}]({posixpath.relpath(target, here)})" if target and files.get_file_from_path(target) else match.group(0)

    def title(target):
        return titles(config.nav).get(target, target)

    # In the messages of Kubernetes, [A-Za-z0-9][-A-Za-z0-9_.] is no reference.
    parts = FENCE.split(markdown.replace("][-A-Za-z0-9", r"]\[-A-Za-z0-9"))
    return "".join(part if part.startswith("```") else NAMED_PAGE.sub(named, LINK.sub(link, part)) for part in parts)


def titles(nav):
    """The titles of the navigation by page."""
    found = {}
    for entry in nav:
        for name, value in entry.items():
            if isinstance(value, list):
                found |= titles(value)
            else:
                found[value] = name
    return found
