"""Runs the Python blocks of a Markdown page, and keeps the output that the page shows true.

The ```python blocks of a page run in order, in one namespace.  A ```text block that directly follows one holds what it
prints.

    python docs/run_blocks.py                    run every page and rewrite its outputs
    python docs/run_blocks.py docs/guide.md      one of them
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<gap>\n*)(?:^```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def pages() -> list[Path]:
    """README and the pages of docs/ that hold Python blocks."""
    candidates = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in candidates if BLOCK.search(page.read_text(encoding="utf-8"))]


def refreshed(page: Path) -> str:
    """The page's text with the outputs that its blocks print now."""
    text = page.read_text(encoding="utf-8")
    module = types.ModuleType(f"{page.stem.replace('-', '_')}_page")  # `cuda` is a package of others
    with _source_file(text, module) as run:
        return BLOCK.sub(lambda block: _shown(block, run(block)), text)


def _shown(block: re.Match[str], printed: str) -> str:
    code = f"```python\n{block['code']}```\n{block['gap']}"
    if block["output"] is None:
        return code
    return f"{code}```text\n{printed}```\n"


@contextlib.contextmanager
def _source_file(text: str, module: types.ModuleType):
    """Lay the blocks down as a Python file, each on the lines that it has in the page: what `inspect` reads."""
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start("code"))
        code = block["code"].splitlines()
        lines[first : first + len(code)] = code
    name, before = f"{module.__name__.removesuffix('_page')}.py", Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        sys.modules[module.__name__] = module
        os.chdir(folder)  # so that the pages show a short file name
        try:
            yield lambda block: _run(block["code"], text.count("\n", 0, block.start("code")), name, module)
        finally:
            os.chdir(before)
            del sys.modules[module.__name__]


def _run(code: str, line: int, file: str, module: types.ModuleType) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * line + code, file, "exec"), module.__dict__)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().strip("\n").splitlines())


def main(arguments: list[str]) -> None:
    for page in [Path(name).resolve() for name in arguments] or pages():
        before, after = page.read_text(encoding="utf-8"), refreshed(page)
        page.write_text(after, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {'unchanged' if before == after else 'rewritten'}")


if __name__ == "__main__":
    main(sys.argv[1:])
