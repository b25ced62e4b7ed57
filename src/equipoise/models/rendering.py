"""A program that renders chat templates, within limits of time and memory: `Template` runs it and asks it.

A template is a program that comes with a model. Jinja's sandbox keeps it away from Python and from files, but not from
endless loops and huge texts, and a thread cannot be stopped: a single power of numbers runs until it is done. In a
process of its own, an alarm of the operating system ends any rendering after some seconds, and memory has a limit
(except on macOS; on Windows there is neither). Both hold whatever the template does, without a list of what is
dangerous.

The first line of the input has the template's text, the limits and the day; every other one has the variables of a
rendering, and is answered in one line: {"text": …}, {"refused": …} by the template, or {"failed": …}. All are JSON.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from datetime import date
from functools import cache
from typing import NoReturn, TypedDict

from jinja2 import Template as Compiled
from jinja2 import TemplateError
from jinja2.ext import Extension
from jinja2.nodes import Node, Scope
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

if sys.platform != "win32":
    import resource

WORDS = 300
"""Characters of a template's complaint that are passed on."""


class Task(TypedDict):
    """The first line: `seconds` and `memory` (bytes) limit each rendering, `length` (characters) its text."""

    template: str
    today: str
    seconds: float
    memory: int
    length: int


class _Generated(Extension):
    """The tag `generation`, with which templates mark replies for training; its content is rendered unchanged."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> Node:
        """Parse up to the end of the tag; variables set inside are local."""
        line = next(parser.stream).lineno
        return Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


@cache
def compile_template(text: str, today: str) -> Compiled:
    """Compile a template in the environment that transformers' documentation of chat templates describes."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generated]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": date.fromisoformat(today).strftime}
    return environment.from_string(text)


def _to_json(
    value: object,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002  (templates may give it by position)
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    """Write JSON; Jinja's own filter escapes HTML characters."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def render(task: Task, line: bytes) -> dict[str, str]:
    """Answer one line: render its variables."""
    try:
        text = compile_template(task["template"], task["today"]).render(json.loads(line))
        text.encode()  # no tokenizer reads a text that has no UTF-8
    except TemplateError as error:
        return {"refused": _cut(error)}
    except MemoryError:
        return {"failed": f"takes more than {task['memory'] >> 20} MiB of memory"}
    except Exception as error:  # noqa: BLE001  (a template can cause any)
        return {"failed": f"fails ({type(error).__name__}: {_cut(error)})"}
    return (
        {"text": text} if len(text) <= task["length"] else {"failed": f"writes more than {task['length']} characters"}
    )


def _cut(error: Exception) -> str:
    """Write a complaint as one line, without what a terminal would obey."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(error)[:WORDS]).split())


def _alarm(seconds: float) -> None:
    """End the process after some seconds, whatever Python is doing, since nobody handles the signal; 0 ends none."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def main() -> None:
    """Answer line by line until the input ends."""
    # Ctrl-C reaches this process too, which ends with the one that asks it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task: Task = json.loads(sys.stdin.buffer.readline())
    if sys.platform != "win32":
        # Who started the program may ignore or block the alarm, and this process inherits that.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        # macOS has the name of this limit, and refuses to set it.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (task["memory"], task["memory"]))
    for line in sys.stdin.buffer:
        _alarm(task["seconds"])
        answer = json.dumps(render(task, line))
        _alarm(0)
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
