"""Stand in for `python` in the clone of stages.py: run it with the given arguments, and record its resource use.

Only this process is waited for, so that the peak memory is its own. Linux also counts the memory of the process that
started it, if larger: hence a starter with almost no imports, between DVC and the stage.
"""

import json
import os
import signal
import sys
from pathlib import Path
from time import perf_counter

STUDIES = Path("src/equipoise/studies")

began = perf_counter()
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ)
# Ctrl-C reaches the stage as well, whose end is waited for.
signal.signal(signal.SIGINT, signal.SIG_IGN)
_, status, used = os.wait4(child, 0)
script, first, *_ = *sys.argv[1:], ""
note = {
    # The first argument of a stage that each study has is the study.
    "stage": Path(script).stem + (f"@{first}" if first and (STUDIES / first).is_dir() else ""),
    "seconds": round(perf_counter() - began, 3),
    "cpu_seconds": round(used.ru_utime + used.ru_stime, 3),
    "peak_mib": round(used.ru_maxrss / 1024),
}
with Path(os.environ["STAGE_USAGE"]).open("a", encoding="utf-8") as notes:
    notes.write(json.dumps(note) + "\n")
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
