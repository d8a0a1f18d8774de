"""Makes the blocking client of the asynchronous one: python make_sync.py FOLDER writes what belongs into src/raygate/_sync."""

import sys
from pathlib import Path

import unasync

SOURCE = Path(__file__).parent / "src" / "raygate" / "_async"
HEADER = "# Made of _async/{name} by make_sync.py. DO NOT EDIT.\n"

# Every class whose name begins with Async, and what the two kinds of iterators, context managers and HTTP clients are called.
NAMES = {
    name: name.removeprefix("Async")
    for name in (
        "AsyncCaller AsyncClient AsyncClusters AsyncCronJobs AsyncEvent AsyncGRPC AsyncHistory AsyncIterator AsyncJobs AsyncResources AsyncREST AsyncServices AsyncSubmissions"
        " AsyncTransport"
    ).split()
}
NAMES |= {"_async": "_sync", "asynccontextmanager": "contextmanager", "aclose": "close", "aread": "read", "aiter_lines": "iter_lines", "aiter_bytes": "iter_bytes"}
TEXTS = {'"""The asynchronous client; ': '"""The blocking client; ', "Iterator, Iterator": "Iterator"}


def main() -> None:
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    rule = unasync.Rule(fromdir=f"{SOURCE}/", todir=f"{into}/", additional_replacements=NAMES)
    names = sorted(path.name for path in SOURCE.glob("*.py") if path.name not in ("io.py", "__init__.py"))
    unasync.unasync_files([str(SOURCE / name) for name in names], rules=[rule])
    for name in names:
        path = into / name
        text = HEADER.format(name=name) + path.read_text(encoding="utf-8")
        for before, after in TEXTS.items():
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
