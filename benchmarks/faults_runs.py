"""Faults around runs of the pipeline: killed stages, a full disk, a clock that jumps, two runs at once, damaged caches.

Runs are made in clones of the last commit whose only study is STUDY, each with its own caches and repositories.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter, sleep
from typing import IO, Any, NamedTuple

import yaml

from equipoise.core.dvc_lock import LOCK, find_fault
from equipoise.core.jsonl import each, sha256, write, write_text
from equipoise.core.prompts import Response
from equipoise.core.yamlfile import read_yaml
from equipoise.materials.vignette import Vignette

ROOT = Path(__file__).parents[1]
STUDY = "exam"
MODEL, PHANTOM = "smollm2", "phantom_silent"
"""The default model, and one that needs no weights."""
CHAIN = tuple(f"{verb}@{STUDY}" for verb in ("build", "infer", "score", "measure"))
STAGES = (*CHAIN, "report", "check", "export")
CACHES = {"infer": ["responses.sqlite"], "score": ["verdicts.sqlite"], "export": ["models"]}
"""Files of a stage in .cache/: removed before it is killed, so that it has work to do."""
UNSEEN = {".git", ".dvc", ".cache", ".venv", "__pycache__"}
"""Folders without output of a run."""
LONGEST = 3600
"""Seconds after which a command counts as hanging."""
POLL = 0.0005
"""Seconds between two looks at a file that is written in tenths of a second."""
Draws = Iterable[tuple[int, random.Random]]
"""Numbers of trials, each with its own random stream."""


class Outcome(NamedTuple):
    """What a trial did, and its problems; a trial without problems passed."""

    what: str
    problems: list[str]


class SkippedError(Exception):
    """A part cannot be tried on this machine; the message says why."""


@dataclass(frozen=True)
class Clone:
    """A clone of the repository, and the environment of its commands."""

    folder: Path
    environment: dict[str, str]
    before: tuple[str, ...] = ()
    """Words that begin every command."""

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with further environment variables."""
        return subprocess.run(  # noqa: S603  (DVC, Git and the project's own stages)
            (*self.before, *command),
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )

    def repro(self, *options: str, **variables: str) -> list[str]:
        """Run what `make repro` does: heal the lock, then run without the run cache; return the problems."""
        healed = self.heal()
        if healed.returncode:
            return [f"dvc.lock is not healed: {last_line(healed.stderr)}"]
        # Without the run cache: DVC would restore what a stage wrote before, and run nothing.
        done = self.run("dvc", "repro", "--no-run-cache", *options, **variables)
        return [f"the run ended with {done.returncode}: {last_line(done.stderr)}"] if done.returncode else []

    def heal(self) -> subprocess.CompletedProcess[str]:
        """Heal the lock, as `make repro` does first."""
        return self.run("python", "-m", "equipoise.pipeline.ready", PYTHONPATH="src")

    def begin(self, stage: str = "", errors: IO[str] | int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Begin to run one stage by force, or all that are to do, in a process group; return when one is started."""
        options = ("--single-item", "--force", stage) if stage else ()
        process = subprocess.Popen(  # noqa: S603  (DVC)
            ["dvc", "repro", "--no-run-cache", *options],  # noqa: S607  (of the clone's environment)
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101  (a pipe, as asked above)
        while (line := process.stdout.readline()) and not line.startswith("Running stage"):
            pass
        return process

    def files(self) -> dict[str, str]:
        """Return the sha256 of every file of the project, by path; leftovers of a fault count."""
        return {
            str(path.relative_to(self.folder)): sha256(path)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not UNSEEN & set(path.relative_to(self.folder).parts)
        }

    def differences(self, expected: dict[str, str]) -> list[str]:
        """Name the files that are not as expected: changed, missing or left over."""
        hashes = self.files()
        return [
            f"{name} differs" for name in sorted(hashes.keys() | expected) if hashes.get(name) != expected.get(name)
        ]

    def forget(self, *names: str) -> None:
        """Remove files or folders of .cache/."""
        for name in names:
            for path in (self.folder / ".cache").glob(f"{name}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def start_anew(self) -> None:
        """Restore the committed state, without outputs and answers, but with the exported model."""
        self.run("git", "checkout", "--quiet", "--", ".")
        exported = ("/.cache/", "/data/checked.json", "/data/manifest.json")
        self.run("git", "clean", "--quiet", "-ffdx", *(f"--exclude={name}" for name in exported))
        self.run("dvc", "commit", "--force", "check", "export")
        self.forget("responses", "entailments", "predictions")

    def copy(self, folder: Path) -> Clone:
        """Copy the clone with its caches."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder, symlinks=True)
        return Clone(folder, self.environment)

    def set_params(self, **sections: Any) -> None:  # noqa: ANN401  (of each key its own type)
        """Change params.yaml, section by section, and commit it."""
        path = self.folder / "params.yaml"
        content: Any = read_yaml(path)
        for name, value in sections.items():
            content[name] = content[name] | value if isinstance(value, dict) else value
        write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
        self.commit()

    def commit(self) -> None:
        """Commit everything."""
        self.run("git", "add", "--all")
        self.run("git", "-c", "user.name=Faults", "-c", "user.email=faults@localhost", "commit", "-qm", "State")


def last_line(text: str) -> str:
    """Return the last line of an output that reports a problem: an error line if there is one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "no output")


@cache
def clone_repository(place: Path) -> Clone:
    """Clone the last commit, without settings of DVC and Python outside the repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PYTHON"))}
    environment |= {f"DVC_{kind}": str(place / kind) for kind in ("SITE_CACHE_DIR", "GLOBAL_CONFIG_DIR")}
    path = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
    clone = Clone(place / "origin", environment | {"DVC_NO_ANALYTICS": "1", "PATH": path})
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone.folder)], check=True)  # noqa: S603, S607  (as a user does)
    return clone


@cache
def reference(place: Path, model: str = MODEL) -> tuple[Clone, dict[str, str], dict[str, float]]:
    """Run the study once: the clone, its files by sha256, and each stage's seconds."""
    clone = clone_repository(place).copy(place / f"reference-{model}")
    clone.set_params(studies=[STUDY], model=model)
    seconds = {}
    for stage in ("check", "export", *CHAIN, "report"):
        process = clone.begin(stage)
        began = perf_counter()
        if process.wait() != 0:
            message = f"the stage {stage} of the run without faults ended with {process.returncode}"
            raise RuntimeError(message)
        seconds[stage] = perf_counter() - began
    clone.commit()
    return clone, clone.files(), seconds


def kills(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Kill each stage of a run with the default model in turn at a random moment, then run to the end.

    What the stage keeps in .cache/ is removed first; SIGKILL goes to its whole process group.

    Every file of the project is identical byte for byte to that of an undisturbed run, and there are no other files.
    """
    base, expected, seconds = reference(place)
    clone = base.copy(place / "kills")
    for number, rng in draws:
        stage = STAGES[number % len(STAGES)]
        clone.forget(*CACHES.get(stage.partition("@")[0], []))
        killed, moment = False, 2 * rng.uniform(0, seconds[stage])
        while not killed:
            moment /= 2  # where the stage ended sooner than the undisturbed one
            killed = kill_after(moment, clone.begin(stage))
        problems = clone.repro() or clone.differences(expected)
        yield Outcome(f"{stage} killed after {moment:.1f} of about {seconds[stage]:.1f} s", problems)
        if problems:
            clone = base.copy(place / "kills")


def kill_after(seconds: float, process: subprocess.Popen[str]) -> bool:
    """Kill the group of a process after some seconds; False if it ended before."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def disk(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Run a phantom in a file system that fills up, then with enough space.

    It has a random fraction of the space that a run needs, or is full from the moment on in which DVC writes dvc.lock
    for the first, second … time.

    One line names the cause, without a traceback; no file is left half-written, except dvc.lock, which is healed as
    soon as there is space; the second run gives identical files.
    """
    base, expected, _ = reference(place, PHANTOM)
    with tmpfs(place / "disk") as resize:
        clone = base.copy(place / "disk/clone")
        clone.start_anew()
        before, used = clone.files(), disk_use(place / "disk")
        if problems := clone.repro():
            raise RuntimeError(problems[0])
        needed = disk_use(place / "disk") - used
        for number, rng in draws:
            clone.start_anew()
            if number % 2:
                writes = rng.randint(1, len(CHAIN))
                ended, output = run_until_full(clone, writes, partial(fill, place / "disk", resize))
                what = f"full at write {writes} of dvc.lock"
            else:
                room = int(rng.random() * needed)
                resize(disk_use(place / "disk") + room)
                done = clone.run("dvc", "repro", "--no-run-cache")
                ended, output = done.returncode, done.stderr
                what = f"{room / 2**20:.1f} of {needed / 2**20:.1f} MiB"
            torn = find_fault(lock_of(clone))
            resize(None)
            healed = clone.heal()
            problems = [
                f"{name} is left half-written"
                for name, mark in clone.files().items()
                if mark not in {before.get(name), expected.get(name)} and (name != LOCK or find_fault(lock_of(clone)))
            ]
            if healed.returncode or (torn and len(healed.stderr.splitlines()) != 1):
                problems.append(f"{LOCK} was {torn or 'whole'}: {last_line(healed.stderr)}")
            if ended:
                problems += no_space_problems(output)
            what = f"{what}, {LOCK} {torn or 'whole'}: {last_line(output)}"
            yield Outcome(what, problems + (clone.repro() or clone.differences(expected)))


def lock_of(clone: Clone) -> str:
    """Read the lock of a clone, whatever its bytes are."""
    return (clone.folder / LOCK).read_bytes().decode(errors="replace")


def run_until_full(clone: Clone, writes: int, fill: Callable[[], object]) -> tuple[int, str]:
    """Run all stages, fill the disk when DVC begins a write of the lock; return exit code and standard error."""
    errors = clone.folder.parent.with_name("errors.txt")
    with errors.open("w") as file:
        process = clone.begin(errors=file)
        if lock_is_written(process, clone.folder / LOCK, writes):
            fill()
        process.communicate()
    return process.returncode, errors.read_text(encoding="utf-8")


def fill(folder: Path, resize: Callable[[int | None], object]) -> None:
    """Leave no space on a file system."""
    resize(disk_use(folder))


def lock_is_written(process: subprocess.Popen[str], lock: Path, writes: int) -> bool:
    """Wait until DVC has begun to write the lock so many times: the file gets shorter; False if it ends before."""
    size = lock.stat().st_size
    while process.poll() is None:
        before, size = size, lock.stat().st_size
        writes -= size < before
        if not writes:
            return True
        sleep(POLL)
    return False


def no_space_problems(output: str) -> list[str]:
    """Check the output of a run on a full disk: one line that names the cause, and no traceback."""
    problems = ["a traceback was printed"] if "Traceback" in output else []
    if len([line for line in output.splitlines() if line.startswith("error:")]) > 1:
        problems.append("more than one error line")
    if not re.search(r"no space|disk is full|free space|disk I/O", output, re.IGNORECASE):
        problems.append(f"no line names the full disk: {last_line(output)}")
    return problems


@contextmanager
def tmpfs(folder: Path) -> Iterator[Callable[[int | None], object]]:
    """Mount a file system in memory; give the function that sets its size, None for plenty."""
    folder.mkdir(parents=True)

    def mount(options: str) -> subprocess.CompletedProcess[str]:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  (as root, or refused)

    if (mounted := mount("size=8g")).returncode:
        message = f"a disk of limited size needs the right to mount: {mounted.stderr.strip()}"
        raise SkippedError(message)
    try:
        yield lambda size: mount(f"remount,size={size or '8g'}")
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)  # noqa: S603, S607  (mounted above)


def disk_use(folder: Path) -> int:
    """Bytes in use on a file system."""
    return shutil.disk_usage(folder).used


JUMPING = """\
import os, time

real, began, (after, by) = time.time, time.monotonic(), map(float, os.environ["CLOCK_JUMP"].split())
time.time = lambda: real() + (by if time.monotonic() - began > after else 0)
time.time_ns = lambda: int(time.time() * 1e9)
"""
"""A sitecustomize.py: in every process, the clock jumps some time after its start."""
HOUR, DECADE = 3600, 10 * 365.25 * 86400


def clock(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Force every stage but check and export while `time.time` jumps by an hour to ten years, forwards or back.

    Exit code 0 and identical files.
    """
    base, _, _ = reference(place)
    clone = base.copy(place / "clock")
    write_text(clone.folder / "src/sitecustomize.py", JUMPING)
    expected = clone.files()
    for _, rng in draws:
        clone.forget("responses", "entailments")
        after, by = rng.uniform(0, 5), rng.choice((-1, 1)) * HOUR * (DECADE / HOUR) ** rng.random()
        problems = clone.repro("--force", "--downstream", CHAIN[0], CLOCK_JUMP=f"{after} {by}", PYTHONPATH="src")
        yield Outcome(f"{by / HOUR:+,.0f} hours after {after:.1f} s", problems + clone.differences(expected))


SETTINGS = (
    "sample.seed=1",
    "sample.per_city=9",
    "measure.alpha=0.1",
    "measure.seed=1",
    "build.system=You are a nurse.",
)


def queue(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Queue two experiments (`dvc exp run --queue`), then run both at once with an empty response cache.

    Both succeed, with the same files as the same two run one after the other.
    """
    base, _, _ = reference(place)
    for _, rng in draws:
        chosen, trees, problems = rng.sample(SETTINGS, 2), {}, []
        for jobs in (1, 2):
            clone = base.copy(place / f"queue-{jobs}")
            clone.forget("responses")
            for number, setting in enumerate(chosen):
                clone.run("dvc", "exp", "run", "--queue", "--name", f"faults-{number}", "--set-param", setting)
            done = clone.run("dvc", "exp", "run", "--run-all", "--jobs", str(jobs))
            refs = clone.run("git", "for-each-ref", "--format=%(tree) %(refname:lstrip=-1)", "refs/exps").stdout
            trees[jobs] = sorted(line for line in refs.splitlines() if "faults-" in line)
            if len(trees[jobs]) != len(chosen):
                problems.append(f"{len(trees[jobs])} of 2 succeeded with --jobs {jobs}: {last_line(done.stderr)}")
        if not problems and trees[1] != trees[2]:
            problems.append("side by side they gave other files than one after the other")
        yield Outcome(" and ".join(chosen), problems)


class Work(NamedTuple):
    """A stage that reads a cache, and its output."""

    cache: str
    verb: str
    study: str
    output: str


WORKS = (
    Work("responses", "infer", "exam", "responses.jsonl"),
    Work("entailments", "score", "vignettes", "judgements.jsonl"),
    Work("predictions", "score", "stigma", "judgements.jsonl"),
)


def caches(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Damage the cache of responses, entailments or predictions in turn, then run the stage that reads it.

    Bits flipped, a truncation, a page of zeros or two rows exchanged; tiny models stand in for the default one.

    Exit code 0 and an identical output; where a damaged row can still be looked up, a line says so.
    """
    clone = clone_repository(place).copy(place / "caches")
    make_small(clone, place)

    def run(work: Work) -> subprocess.CompletedProcess[str]:
        return clone.run("python", f"stages/{work.verb}.py", work.study, "data", PYTHONPATH="src")

    if problems := clone.repro("infer@exam", "infer@vignettes", "score@stigma"):
        raise RuntimeError(problems[0])
    study = clone.folder / "data/vignettes"
    files = [study / f"built/{name}.jsonl" for name in ("vignettes", "controls")]
    features = {row.key: row.features for file in files for row in each(file, Vignette)}
    # The tiny model reasons about nothing: the judge is asked only where a reply has the patient's feature.
    replies = [
        row.model_copy(
            update={"replies": (f"The patient is {', '.join(features[row.key].values())}.", *row.replies[1:])}
        )
        for row in each(study / "responses.jsonl", Response)
    ]
    write(study / "responses.jsonl", replies)
    # Each cache must contain only rows that its stage reads.
    clone.forget("responses", "entailments")
    for work in WORKS:
        run(work)
    for number, rng in draws:
        work = WORKS[number % len(WORKS)]
        output = clone.folder / "data" / work.study / work.output
        yield damage_cache(clone.folder / f".cache/{work.cache}.sqlite", output, partial(run, work), rng)


def make_small(clone: Clone, place: Path) -> None:
    """Make tiny random models those of a clone, and its stigma sentences few."""
    sys.path.insert(0, str(ROOT / "tests"))
    import tiny
    import tiny_masked
    from clones import shorten

    tiny.register(clone.folder, "tiny", tiny.build(place / "tiny", 1), 1)
    tiny_masked.register(clone.folder, "tiny", tiny_masked.build(place / "tiny-masked", 1))
    shorten(clone.folder / "data/sentences")
    studies = sorted({work.study for work in WORKS})
    clone.set_params(model="tiny", studies=studies, fill={"scorer": "masked", "masked": "tiny"})


def damage_cache(
    path: Path, output: Path, stage: Callable[[], subprocess.CompletedProcess[str]], rng: random.Random
) -> Outcome:
    """Damage a cache, run a stage that reads all of it, and put the cache back."""
    original, expected, before = path.read_bytes(), output.read_bytes(), lookups(path)
    try:
        what = rng.choice(DAMAGES)(path, rng)
        after = lookups(path, before)
        output.unlink()
        done = stage()
        problems = [f"ended with {done.returncode}: {last_line(done.stderr)}"] if done.returncode else []
        if "Traceback" in done.stderr:
            problems.append("a traceback was printed")
        if not output.is_file() or output.read_bytes() != expected:
            problems.append(f"{output.name} differs")
        if "damaged" not in done.stderr and any(after.get(key) not in {None, row} for key, row in before.items()):
            problems.append("no line says that something is damaged")
    finally:
        for other in path.parent.glob(f"{path.name}*"):
            other.unlink()
        path.write_bytes(original)
        output.write_bytes(expected)
    return Outcome(f"{path.name}: {what}", problems)


def lookups(path: Path, keys: Iterable[str] | None = None) -> dict[str, tuple[bytes, ...] | None]:
    """Look keys up, by default all: a row that is not found is None, one that cannot be read is empty."""
    rows: dict[str, tuple[bytes, ...] | None] = {}
    table = path.stem.removesuffix("s")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        if keys is None:
            keys = [key.decode() for (key,) in database.execute(f"SELECT key FROM {table}")]  # noqa: S608  (a constant)
        for key in keys:
            try:
                rows[key] = database.execute(f"SELECT value, digest FROM {table} WHERE key = ?", [key]).fetchone()  # noqa: S608
            except sqlite3.Error:
                rows[key] = ()
    return rows


def flip(path: Path, rng: random.Random) -> str:
    """Flip a few bits."""
    content, times = bytearray(path.read_bytes()), rng.randint(1, 16)
    for _ in range(times):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return f"{times} bits flipped"


def truncate(path: Path, rng: random.Random) -> str:
    """Cut the file at a random byte."""
    size = rng.randrange(path.stat().st_size)
    os.truncate(path, size)
    return f"truncated to {size} bytes"


def zero(path: Path, rng: random.Random) -> str:
    """Fill a page with zeros."""
    content, size = bytearray(path.read_bytes()), 4096
    page = rng.randrange(len(content) // size)
    content[page * size : (page + 1) * size] = bytes(size)
    path.write_bytes(content)
    return f"page {page} of {len(content) // size} zeroed"


def exchange(path: Path, rng: random.Random) -> str:
    """Exchange the values of two rows, with their digests or without."""
    table, columns = path.stem.removesuffix("s"), rng.choice((("value",), ("value", "digest")))
    with closing(sqlite3.connect(path)) as database, database:
        rows = database.execute(f"SELECT key, {', '.join(columns)} FROM {table} ORDER BY key").fetchall()  # noqa: S608
        (first_key, *first), (second_key, *second) = rng.sample(rows, 2)
        change = f"UPDATE {table} SET {' = ?, '.join(columns)} = ? WHERE key = ?"  # noqa: S608
        database.executemany(change, [(*second, first_key), (*first, second_key)])
    return f"{' and '.join(columns)} of two rows exchanged"


DAMAGES = (flip, truncate, zero, exchange)
