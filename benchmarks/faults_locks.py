"""Faults around dvc.lock and runs at once: kills while DVC writes it, experiments at once, folders that are read-only.

Runs are those of a phantom in clones of the last commit: a trial takes seconds, and waits for no model.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from time import perf_counter, sleep

import yaml
from faults_runs import (
    LOCK,
    PHANTOM,
    POLL,
    SETTINGS,
    STAGES,
    Clone,
    Draws,
    Outcome,
    SkippedError,
    last_line,
    lock_is_written,
    lock_of,
    reference,
)

from equipoise.core.dvc_lock import find_fault

OTHER = "phantom_open"
SEVERAL = ""
"""Trials of a run of several stages, rather than of one."""
CHANGED = ("measure.seed=2", "measure.alpha=0.1")
"""Settings that some stages depend on."""
AS_OTHERS = ("setpriv", "--bounding-set=-dac_override")
"""Words before a command by which the rights of files hold for root too."""
FOLDERS = (".", ".cache", ".dvc/cache/files/md5", ".dvc/tmp", "data", "data/exam", "metrics", "plots", "report")
"""Folders that a run writes into."""


def locks(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Kill a run of a phantom while DVC writes dvc.lock, then heal the lock, and run to the end.

    SIGKILL goes to the whole process group at a random moment of the write after each stage in turn, or after one of
    the stages that a changed setting reruns.

    One line says what is restored from where; of single stages, no other runs again; every file of the project,
    dvc.lock too, is identical byte for byte to that of an undisturbed run, and there are no other files.
    """
    base, expected, _ = reference(place, PHANTOM)
    clone = base.copy(place / "locks")
    window = seconds_of_a_write(clone)
    for number, rng in draws:
        stage = (*STAGES, SEVERAL)[number % (len(STAGES) + 1)]
        killed = False
        while not killed:
            writes = 1 if stage else prepare_several(clone, rng)
            killed = kill_in_write(clone, clone.begin(stage), writes, rng.uniform(0, window))
        torn, size = find_fault(lock_of(clone)), (clone.folder / LOCK).stat().st_size
        healed = clone.heal()
        problems = [f"healing ended with {healed.returncode}: {last_line(healed.stderr)}"] if healed.returncode else []
        if len(healed.stderr.splitlines()) > 1 or (torn and "restored " not in healed.stderr):
            problems.append(f"the lock was {torn or 'whole'}, and said was: {healed.stderr.strip()}")
        done = clone.run("dvc", "repro", "--no-run-cache")
        if done.returncode:
            problems.append(f"the run ended with {done.returncode}: {last_line(done.stderr)}")
        ran = set(re.findall(r"^Running stage '(.+)'", done.stdout, re.MULTILINE))
        if stage and (others := ran - {stage}):
            problems.append(f"ran again without need: {', '.join(sorted(others))}")
        problems += clone.differences(expected)
        what = stage or f"write {writes} of several stages"
        yield Outcome(f"{what}: {size:,} bytes of dvc.lock left, {torn or 'which is whole'}", problems)
        if problems:
            clone = base.copy(place / "locks")


def seconds_of_a_write(clone: Clone) -> float:
    """Time one write of the lock, from the moment on in which it is empty until it has its size again."""
    lock = clone.folder / LOCK
    whole, process = lock.stat().st_size, clone.begin("report")
    if not lock_is_written(process, lock, 1):
        message = "DVC did not write dvc.lock"
        raise RuntimeError(message)
    began = perf_counter()
    while lock.stat().st_size < whole and process.poll() is None:
        sleep(POLL)
    seconds = perf_counter() - began
    process.communicate()
    return seconds


def prepare_several(clone: Clone, rng: random.Random) -> int:
    """Run with another setting and put it back, so that several stages are to do; choose one of their writes."""
    params = clone.folder / "params.yaml"
    original = params.read_bytes()
    clone.run("dvc", "exp", "run", "--set-param", rng.choice(CHANGED))
    params.write_bytes(original)
    return rng.randint(1, 3)  # check, measure, report


def kill_in_write(clone: Clone, process: subprocess.Popen[str], writes: int, seconds: float) -> bool:
    """Kill a process group some seconds after it has begun a write of the lock; False if it ended before."""
    if not lock_is_written(process, clone.folder / LOCK, writes):
        return False
    sleep(seconds)
    if alive := process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return alive


def experiments(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Begin a second `dvc exp run` with another setting while one runs: in the folder, or both with `--temp`.

    DVC refuses the second in the folder, but has written its setting into params.yaml before; then run to the end.

    With `--temp` both succeed; else each may end with an error; what is recorded is right: a forced run of all stages
    with the settings that are there gives identical files.
    """
    base, _, _ = reference(place, PHANTOM)
    for number, rng in draws:
        clone = base.copy(place / "experiments")
        options = ("--temp",) if number % 3 == 2 else ()  # noqa: PLR2004  (every third trial)
        first, second = rng.sample(CHANGED, 2)
        wait = rng.uniform(0, 15)
        begun = begin_experiment(clone, first, options)
        sleep(wait)
        codes = [process.wait() for process in (begin_experiment(clone, second, options), begun)]
        problems = [f"with --temp they ended with {codes}"] if options and any(codes) else []
        problems += clone.repro()
        before = clone.files()
        problems += clone.repro("--force") + clone.differences(before)
        how = "with --temp" if options else "in the folder"
        yield Outcome(f"{first}, {wait:.0f} s later {second}, {how}: exit codes {codes[1]} and {codes[0]}", problems)


def begin_experiment(clone: Clone, setting: str, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Begin an experiment."""
    return subprocess.Popen(  # noqa: S603  (DVC)
        ["dvc", "exp", "run", *options, "--set-param", setting],  # noqa: S607  (of the clone's environment)
        cwd=clone.folder,
        env=clone.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def sweep(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Run `make sweep` with two phantoms, one after the other and with JOBS=2.

    Exit code 0, the same files of both, a row of each in the leaderboard, and an unchanged folder.
    """
    base, _, _ = reference(place, PHANTOM)
    for _, rng in draws:
        chosen, trees, problems = rng.choice(SETTINGS), {}, []
        for jobs in ("1", "2"):
            clone = base.copy(place / f"sweep-{jobs}")
            section, name, value = re.split("[.=]", chosen, maxsplit=2)
            clone.set_params(**{section: {name: yaml.safe_load(value)}})
            # What is installed stays; the modules are the clone's own.
            words = ("make", "--assume-old=.venv/installed", "PYTHONPATH=src", "SWEEP=faults")
            done = clone.run(*words, "sweep", f"MODELS={PHANTOM} {OTHER}", f"JOBS={jobs}")
            if done.returncode:
                problems.append(f"JOBS={jobs} ended with {done.returncode}: {last_line(done.stderr)}")
            listed = clone.run("python", "-m", "equipoise", "leaderboard", "--json", PYTHONPATH="src").stdout
            rows = {row["model"] for row in json.loads(listed or "[]")}
            problems += [f"JOBS={jobs}: {model} is not in the leaderboard" for model in {PHANTOM, OTHER} - rows]
            refs = clone.run("git", "for-each-ref", "--format=%(tree) %(refname:lstrip=-1)", "refs/exps").stdout
            trees[jobs] = sorted(line for line in refs.splitlines() if line.endswith("-faults"))
            if len(trees[jobs]) != len({PHANTOM, OTHER}):
                problems.append(f"{len(trees[jobs])} of 2 succeeded with JOBS={jobs}")
            if changed := clone.run("git", "status", "--short").stdout:
                problems.append(f"JOBS={jobs} left {' '.join(changed.split())}")
        if trees["1"] != trees["2"]:
            problems.append("side by side they gave other files than one after the other")
        yield Outcome(f"{PHANTOM} and {OTHER} with {chosen}", problems)


def readonly(place: Path, draws: Draws) -> Iterator[Outcome]:
    """Run a phantom without the right to write into one of the folders that a run writes into, then with it.

    One line names the cause, without a traceback, where the run fails; no file is left half-written; the second run
    gives identical files.
    """
    if not os.getuid() and not which(AS_OTHERS[0]):
        message = f"root may write everywhere, and {AS_OTHERS[0]} is not installed"
        raise SkippedError(message)
    base, expected, _ = reference(place, PHANTOM)
    for number, _ in draws:
        clone = base.copy(place / "readonly")
        clone.start_anew()
        before, name = clone.files(), FOLDERS[number % len(FOLDERS)]
        folder = clone.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o555)
        as_others = clone if os.getuid() else Clone(clone.folder, clone.environment, AS_OTHERS)
        done = as_others.run("dvc", "repro", "--no-run-cache")
        folder.chmod(0o755)
        problems = [
            f"{path} is left half-written"
            for path, mark in clone.files().items()
            if mark not in {before.get(path), expected.get(path)} and (path != LOCK or find_fault(lock_of(clone)))
        ]
        if done.returncode and not re.search(r"permission|read-only|not permitted", done.stderr, re.IGNORECASE):
            problems.append(f"no line names the right to write: {last_line(done.stderr)}")
        if "Traceback" in done.stderr:
            problems.append("a traceback was printed")
        problems += clone.repro() or clone.differences(expected)
        end = "passed" if done.returncode == 0 else last_line(done.stderr)
        yield Outcome(f"{name}: {end}", problems)
