"""Check the subject of a commit message: subject.py FILE, as a commit-msg hook calls it."""

import re
import sys
from pathlib import Path

LONGEST = 72
"""Characters of a subject."""
AUTOMATIC = re.compile(r"(?:Merge|Revert|fixup!|squash!|amend!) ")
"""Subjects that Git writes."""


def faults(message: str) -> list[str]:
    """List what is wrong with a message; nothing for one that Git writes itself."""
    lines = [line for line in message.split("\n") if not line.startswith("#")]
    subject, after = lines[0] if lines else "", lines[1] if len(lines) > 1 else ""
    if AUTOMATIC.match(subject):
        return []
    checks = {
        "the subject is empty": not subject.strip(),
        f"the subject has {len(subject)} characters: write at most {LONGEST}": len(subject) > LONGEST,
        "the subject begins with a lower-case letter or a prefix": bool(
            re.match(r"[a-z]|\w+(?:\(.*?\))?!?: ", subject)
        ),
        "the subject ends with a full stop": subject.endswith("."),
        "the second line is not blank": bool(after.strip()),
    }
    return [fault for fault, applies in checks.items() if applies]


if __name__ == "__main__":
    if problems := faults(Path(sys.argv[1]).read_text(encoding="utf-8")):
        sys.exit("error: " + "; ".join(problems))
