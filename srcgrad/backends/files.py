"""Where generated modules and their machine code lie: a private folder, files named by what is in them.

load("f_backward", key, text, objects)    writes  <folder>/f_backward_1f0a….py  and returns the module
write(path, payload); read(path)          a checked file: a damaged, foreign or half-written one reads as None
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import linecache
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

_MAGIC = b"srcgrad1"
_DIGEST = hashlib.sha256().digest_size


def digest(*parts: object) -> str:
    """A name for these parts; their `repr` must say all there is."""
    sha = hashlib.sha256()
    for part in parts:
        text = part if isinstance(part, str) else repr(part)
        sha.update(f"{len(text)}:".encode())
        sha.update(text.encode(errors="surrogatepass"))
    return sha.hexdigest()


@functools.cache
def own_sources() -> str:
    """What tells srcgrad's own sources from others: whoever edits them must not be served what was compiled before.

    Names, lengths and times, as in Numba's own cache: to read all the files would be a tenth of a small first call.
    """
    root = str(Path(__file__).resolve().parent.parent)
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name.endswith(".py")]
    stamps = ((path[len(root) :], status.st_size, status.st_mtime_ns) for path in paths if (status := os.stat(path)))
    return digest(*sorted(stamps))


def folder() -> Path:
    """The cache folder: `SRCGRAD_CACHE_DIR`, else the user's cache folder, else a temporary one; 0700, and ours."""
    return _folder(os.environ.get("SRCGRAD_CACHE_DIR", ""), os.environ.get("XDG_CACHE_HOME", ""))


@functools.cache
def _folder(chosen: str, xdg: str) -> Path:
    user = f"srcgrad-{os.getuid()}" if hasattr(os, "getuid") else "srcgrad"
    places = [Path(chosen)] if chosen else []
    with contextlib.suppress(RuntimeError):  # no home
        places.append((Path(xdg) if xdg else Path.home() / ".cache") / "srcgrad")
    places.append(Path(tempfile.gettempdir()) / user)
    for place in places:
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            inner = place / f"python{sys.version_info[0]}.{sys.version_info[1]}"
            inner.mkdir(mode=0o700, exist_ok=True)
            if is_private(inner):
                tempfile.TemporaryFile(dir=inner).close()
                return inner
    return Path(tempfile.mkdtemp(prefix="srcgrad-"))


def is_private(path: Path) -> bool:
    """Whether the folder is ours and nobody else can put files there."""
    if not hasattr(os, "getuid"):
        return True
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    if status.st_mode & 0o077:
        path.chmod(0o700)
    return True


def load(name: str, key: str, text: str, objects: dict[str, Any]) -> ModuleType:
    """The module of this text, from a real file: Numba caches it, pdb and tracebacks show it.

    `key` tells apart what is compiled from one text in several ways: machine code refers to its module by name.
    """
    title = f"{name}_{key[:24]}"
    path = folder() / f"{title}.py"
    content = text.encode()
    with contextlib.suppress(OSError):
        if not path.exists() or path.read_bytes() != content:
            replace(path, content)
    linecache.cache[str(path)] = (len(content), None, text.splitlines(keepends=True), str(path))
    module = ModuleType(f"srcgrad.generated.{title}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # Numba looks it up by name when it loads machine code
    exec(compile(text, str(path), "exec"), module.__dict__)
    module.__dict__.update(objects)  # those that the text imports as well: these very ones
    return module


def write(path: Path, payload: bytes) -> None:
    """Write a checked file.  A full disk or a lost folder costs the next process time, and nobody an error."""
    with contextlib.suppress(OSError):
        replace(path, _MAGIC + _seal(path, payload) + payload)


def read(path: Path) -> bytes | None:
    """The payload of a checked file, or None where it is missing or is not what was written under this name."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    payload = content[start:]
    return payload if content[:start] == _MAGIC + _seal(path, payload) else None


def _seal(path: Path, payload: bytes) -> bytes:
    """The hash covers the name, which is the key: a sound file under another name is foreign."""
    return hashlib.sha256(path.name.encode() + b"\0" + payload).digest()


def replace(path: Path, content: bytes) -> None:
    """Write all of it or nothing: another process sees the old file or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
