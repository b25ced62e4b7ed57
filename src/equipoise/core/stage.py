"""Running a stage script: arguments from its function's signature, a progress bar, and one-line error messages."""

from __future__ import annotations

import errno
import marshal
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.progress import aside, progress
from equipoise.core.visible import brief, line

__all__ = ["aside", "one_line", "progress", "run"]
P = ParamSpec("P")
RECENT = 3600.0
"""Seconds since a compiled module was written within which it is checked."""
LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
"""Where the modules of Python and of other packages are."""
FULL = {errno.ENOSPC, errno.EDQUOT}
REFUSED = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM),
    *(errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP),
}
"""Errors of the system about a path that it is given."""
HEADER = 16
"""Bytes before the code in a compiled module."""


def one_line(command: Callable[P, None]) -> Callable[P, None]:
    """Turn an EquipoiseError, Ctrl-C, a missing extra and whatever the system refuses into one line and exit code 1."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with extras_named():
                command(*args, **kwargs)
        except EquipoiseError as error:
            sys.exit(f"error: {brief(line(str(error)))}")
        except OSError as error:
            # A reader that went away ends the command in silence; an error without a number is not the system's.
            if isinstance(error, BrokenPipeError) or not error.errno:
                raise
            sys.exit(f"error: {line(_refusal(error))}")
        except KeyboardInterrupt:
            sys.exit("interrupted: finished work is saved; run the same command again to resume")
        finally:
            _drop_half_compiled()

    return guarded


def _refusal(error: OSError) -> str:
    """Say what the system refused, and what may help."""
    if error.errno in FULL:
        return f"{error.filename or Path.cwd()}: {error.strerror}: free space, then run again"
    refused = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    if error.filename and error.errno in REFUSED:
        return f"{refused}: correct the path or its permissions"
    return f"{refused}: check the disk, the network and the limits of this shell (`ulimit -a`), then run again"


_READABLE: set[str] = set()
"""Compiled modules that this process has checked."""


def _drop_half_compiled() -> None:
    """Remove our compiled modules of the last hour that cannot be read: on a full disk Python leaves halves of them."""
    # Read from their dictionaries: some modules make up an attribute that they do not have.
    cached = {getattr(module, "__dict__", {}).get("__cached__") for module in [*sys.modules.values()]} - _READABLE
    own = {name for name in cached if isinstance(name, str) and not name.startswith(LIBRARIES)}
    _READABLE.update(own)
    for path in map(Path, own):
        with suppress(OSError):
            try:
                if time.time() - path.stat().st_mtime < RECENT:
                    marshal.loads(path.read_bytes()[HEADER:])  # noqa: S302  (what Python would load)
            except (EOFError, ValueError, TypeError):
                path.unlink()


@contextmanager
def _unchanged(settings: Path) -> Iterator[None]:
    """Refuse a change of the settings within the block: DVC would record what they are when the stage has ended."""

    def read() -> bytes:
        return settings.read_bytes() if settings.is_file() else b""

    before = read()
    yield
    if read() != before:
        raise EquipoiseError(f"{settings}: changed while the stage ran (by another `dvc exp run`?): run again")


def run(main: Callable[..., None]) -> None:
    """Run a stage's main function with its command-line arguments, with a progress bar named after the stage."""
    import typer

    from equipoise.core import dvc_lock, params

    @wraps(main)
    def stage(*args: object, **kwargs: object) -> None:
        # DVC has written the lock after the stage before, and does so again after this one.
        dvc_lock.keep()
        with progress(Path(sys.argv[0]).stem), _unchanged(params.FILE):
            main(*args, **kwargs)

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(one_line(stage))
    app()
