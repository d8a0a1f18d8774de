"""Packages of local folders, as the working directory of a job. The same files always make the same package."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pathspec import GitIgnoreSpec

from raygate.errors import RaygateError

MAX_UPLOAD = 100 << 20
"""The largest package in bytes that Ray's dashboard accepts."""
MAX_JOB_UPLOAD = 10 << 30
"""The same for a cluster of the job's own, whose package the gateway keeps."""

_IGNORE_FILES = (".gitignore", ".rayignore")
_ALWAYS = (".git", ".venv", "venv", "__pycache__")  # Ray leaves them out by default
_MAX_FILES = 100_000
_SHOWN_FILES = 5
# Ray drops the top folder of an archive that it fetches by URL if nothing is beside it.
_SOLE_FOLDER_MARK = ".raygate"
_COPIED = 1 << 20
_PART = 256 << 10  # few enough bytes for the gateway to see progress on a slow connection


def is_folder(working_dir: str | os.PathLike[str]) -> bool:
    """Return whether a working directory is a local folder, and not a URI or empty."""
    return os.fspath(working_dir) != "" and "://" not in os.fspath(working_dir)


@dataclass(frozen=True)
class Package:
    """An archive in a temporary file, which is deleted when it is closed."""

    name: str
    """_ray_pkg_HASH.zip. HASH is the SHA-256 sum of the archive, in hexadecimal."""
    size: int
    """In bytes."""
    files: int
    folder: str
    content: IO[bytes]

    def parts(self) -> Iterator[bytes]:
        """Return the archive in parts. They end when it is closed, which may be while a call that was refused still asks for one."""
        while not self.content.closed and (data := self.content.read(_PART)):
            yield data

    def __str__(self) -> str:
        return f"{self.files} files of {self.folder}, {_bytes(self.size)}"


def pack(folder: str | os.PathLike[str], limit: int) -> Package:
    """Pack a folder without what .gitignore and .rayignore files name. Raises RaygateError for a package of more than limit bytes, with the largest
    files, and for symbolic links that lead out of the folder."""
    lister = _Lister(os.path.realpath(folder))
    try:
        lister.folder("", (lister.root,), [_Rules("", _spec(_ALWAYS))])
        content = tempfile.TemporaryFile(prefix="raygate-")
        try:
            out = _Archive(content, limit)
            _write(out, lister.entries)
            content.seek(0)
        except BaseException:
            content.close()
            raise
    except _FullError:
        raise RaygateError(f"packing the working directory {os.fspath(folder)}: {_too_large(limit, lister.entries)}") from None
    except (OSError, RaygateError) as error:
        raise RaygateError(f"packing the working directory {os.fspath(folder)}: {error}") from error
    return Package(f"_ray_pkg_{out.sum.hexdigest()}.zip", limit - out.left, len(lister.entries), os.fspath(folder), content)


@dataclass(frozen=True)
class _Entry:
    """A file of a package, or a folder that is empty on disk."""

    path: str
    """Relative to the packed folder, with slashes; that of a folder ends with one."""
    source: str
    size: int
    executable: bool


@dataclass(frozen=True)
class _Rules:
    """Rules of an ignore file."""

    base: str
    """The path of the folder of the file, empty or with a trailing slash."""
    spec: GitIgnoreSpec

    def exclude(self, path: str) -> bool:
        """Return whether the rules leave out a path, of which no parent is left out. That of a folder ends with a slash."""
        return self.spec.match_file(path[len(self.base) :])


class _Lister:
    """Collects the entries of a folder. It follows symbolic links within the folder, and refuses those that lead out of it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.entries: list[_Entry] = []

    def folder(self, prefix: str, parents: tuple[str, ...], rules: list[_Rules]) -> None:
        """Add the entries of a folder in the order of their paths. prefix is its path with a trailing slash, or empty. parents are the real paths of
        the folders above it and, as the last one, its own."""
        folder = parents[-1]
        rules = rules + self._rules_of(prefix, folder)
        names = sorted(os.listdir(folder))
        if not names and prefix:
            self.entries.append(_Entry(prefix, folder, 0, False))
        for name in names:
            real = os.path.realpath(os.path.join(folder, name))
            inside = self._has(real)
            try:
                found = os.stat(real) if inside else os.lstat(os.path.join(folder, name))
            except FileNotFoundError:
                continue  # a symbolic link to nothing
            path = prefix + name + ("/" if stat.S_ISDIR(found.st_mode) else "")
            if not any(each.exclude(path) for each in rules):
                self._add(path, real, found, inside, parents, rules)

    def _add(self, path: str, real: str, found: os.stat_result, inside: bool, parents: tuple[str, ...], rules: list[_Rules]) -> None:
        if not inside:
            raise RaygateError(f"{path}: the symbolic link leads out of the folder; remove it, or name it in .rayignore")
        if real in parents:
            raise RaygateError(f"{path}: the symbolic link leads to a folder that contains it; remove it, or name it in .rayignore")
        if stat.S_ISDIR(found.st_mode):
            self.folder(path, (*parents, real), rules)
        elif stat.S_ISREG(found.st_mode):  # sockets and devices are left out, as Ray does
            if len(self.entries) >= _MAX_FILES:
                raise RaygateError(f"it has more than {_MAX_FILES} files; name those that the job does not need in .rayignore")
            self.entries.append(_Entry(path, real, found.st_size, bool(found.st_mode & 0o111)))

    def _rules_of(self, prefix: str, folder: str) -> list[_Rules]:
        """Return the rules of the ignore files in a folder."""
        found: list[_Rules] = []
        for name in _IGNORE_FILES:
            path = os.path.join(folder, name)
            if not self._has(os.path.realpath(path)):
                raise RaygateError(f"{prefix}{name}: the symbolic link leads out of the folder")
            try:
                with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
                    found.append(_Rules(prefix, _spec(file.read().split("\n"))))
            except FileNotFoundError:
                continue  # any other error must not send what is not to be sent
        return found

    def _has(self, real: str) -> bool:
        return Path(real).is_relative_to(self.root)


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Read lines in the syntax of .gitignore. One that is no valid pattern matches nothing, as with git."""
    return GitIgnoreSpec.from_lines(line for line in lines if _is_valid(line))


def _is_valid(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


class _FullError(Exception):
    """The archive has reached its limit."""


class _Archive:
    """Writes an archive up to a number of bytes, and sums them. That it cannot seek makes zipfile write in one go."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self.left, self.sum = file, limit, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write data whole, or raise _FullError."""
        self.left -= len(data)
        if self.left < 0:
            raise _FullError
        self.sum.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Write what is buffered."""
        self._file.flush()


def _write(out: _Archive, entries: Sequence[_Entry]) -> None:
    """Write the archive, which depends on nothing but the paths, the contents and whether files are executable."""
    with zipfile.ZipFile(cast(IO[bytes], out), "w", zipfile.ZIP_DEFLATED) as archive:
        if len({entry.path.partition("/")[0] for entry in entries}) == 1 and "/" in entries[0].path:
            archive.writestr(_header(_SOLE_FOLDER_MARK, stat.S_IFREG | 0o644), b"")
        for entry in entries:
            if entry.path.endswith("/"):
                archive.writestr(_header(entry.path, stat.S_IFDIR | 0o755), b"")
                continue
            header = _header(entry.path, stat.S_IFREG | (0o755 if entry.executable else 0o644))
            header.file_size = entry.size  # whether 64 bits are needed for it
            with open(entry.source, "rb") as source, archive.open(header, "w") as into:
                shutil.copyfileobj(source, into, _COPIED)


def _header(path: str, mode: int) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(path)  # with the first time that an archive can have
    header.compress_type = zipfile.ZIP_STORED if path.endswith("/") else zipfile.ZIP_DEFLATED
    header.create_system = 3  # Unix, whose modes these are, also on Windows
    header.external_attr = mode << 16
    return header


def _too_large(limit: int, entries: Sequence[_Entry]) -> str:
    total = sum(entry.size for entry in entries)
    largest = sorted(entries, key=lambda entry: -entry.size)[:_SHOWN_FILES]
    return (
        f"it makes a package of more than {_bytes(limit)} (its files have {_bytes(total)}); name what the job does not need in .rayignore."
        f" The largest files are {', '.join(f'{entry.path} ({_bytes(entry.size)})' for entry in largest)}"
    )


def _bytes(count: float) -> str:
    """Return a size for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
