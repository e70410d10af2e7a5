"""One eval of the suite against several tools, size by size: every tool in turn does a size before any does the next.

An eval is a process that writes messages and reads answers, a tool one that reads messages and writes answers.  The
suite's own program connects the two; this does the same, for several pairs in lockstep, so that what else happens on
the machine meanwhile is shared out among the tools.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFINE_LIMIT = 600.0  # seconds: the tools in C++ compile then
END = {"kind": "end"}


@dataclass
class Row:
    """What a tool did with one function at one size."""

    function: str
    size: str
    nanoseconds: list[int] = field(default_factory=list)
    valid: bool = False
    error: str = ""


class Process:
    """A program that is spoken to in JSON lines."""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str]):
        self.child = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # what it starts ends with it
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put("")  # it has ended

    def hear(self, limit: float | None = None) -> dict[str, Any] | None:
        """Its next message; None where it has ended, TimeoutError where it takes longer than that many seconds."""
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError(f"took longer than {limit:g} s") from None
        return json.loads(line) if line else None

    def tell(self, message: dict[str, Any]) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def stop(self) -> None:
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


class Contestant:
    """A tool, and the eval that asks it."""

    def __init__(self, name: str, module: str, asking: Process, start_tool: Callable[[], Process], limit: float):
        self.name, self.module, self.limit = name, module, limit
        self.asking, self.start_tool = asking, start_tool
        self.tool: Process | None = None
        self.given_up: dict[str, str] = {}  # functions that took too long or broke down, and how
        self.rows: dict[int, Row] = {}
        self.heard: dict[str, Any] | None = None

    def advance(self) -> bool:
        """Go on until the tool has done one more size; false where the eval has no more to ask.

        The eval is heard once more before the next tool has its turn: it checks the answer first, which takes time.
        """
        has_done = False
        while (message := self.heard or self.asking.hear() or END)["kind"] != "end":
            is_size = message["kind"] == "evaluate"
            if has_done and is_size:
                break
            self.heard = None
            self.asking.tell({"id": message["id"], **self._answer(message)})
            has_done = has_done or is_size
        self.heard = message
        return has_done

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["kind"]:
            case "start":
                return {"tool": self.name}
            case "define":
                return self._define()
            case "evaluate":
                return self._evaluate(message)
            case "analysis":
                row = self.rows[message["of"]]
                row.valid, row.error = message["valid"], message.get("error", "")
        return {}

    def _define(self) -> dict[str, Any]:
        self.tool = self.start_tool()
        self._ask({"id": 0, "kind": "start", "eval": self.module}, DEFINE_LIMIT)
        answer = self._ask({"id": 1, "kind": "define", "module": self.module}, DEFINE_LIMIT)
        if not answer.get("success"):
            print(f"{self.name} has no {self.module}: {answer.get('error', '')[-300:]}")
        return answer

    def _evaluate(self, message: dict[str, Any]) -> dict[str, Any]:
        function = message["function"]
        row = self.rows[message["id"]] = Row(function, message.get("description") or json.dumps(message["input"]))
        if function in self.given_up:
            answer: dict[str, Any] = {"success": False, "error": self.given_up[function]}
        else:
            if self.tool is None:
                self._define()
            answer = self._ask(message, self.limit)
        if not answer["success"]:
            row.error = self.given_up[function] = answer.get("error", "")
        row.nanoseconds = [part["nanoseconds"] for part in answer.get("timings") or () if part["name"] == "evaluate"]
        return answer

    def _ask(self, message: dict[str, Any], limit: float) -> dict[str, Any]:
        assert self.tool is not None
        try:
            self.tool.tell(message)
            answer = self.tool.hear(limit)
        except (TimeoutError, BrokenPipeError) as error:
            answer = {"success": False, "error": str(error)}
        if answer is None:
            answer = {"success": False, "error": "ended"}
        if answer.get("error") and not answer.get("success"):
            self._stop_tool()
        return {key: value for key, value in answer.items() if key != "id"}

    def _stop_tool(self) -> None:
        if self.tool is not None:
            self.tool.stop()
        self.tool = None

    def stop(self) -> None:
        self._stop_tool()
        self.asking.stop()


def contest(contestants: Sequence[Contestant]) -> None:
    """Run them all to the end, in turns."""
    left = list(contestants)
    try:
        while left:
            left = [one for one in left if one.advance()]
    finally:
        for one in contestants:
            one.stop()
