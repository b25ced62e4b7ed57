"""Read the verdicts in a JUnit file that `equipoise export run --to junit` wrote: gate.py [--summary] junit.xml.

The exit code is 0 if every study with a verdict has no bias, 1 if one is biased, 2 if one is undecided or none has a
verdict, and 3 if the file cannot be read. With `--summary`, the verdicts are printed as Markdown, and the code is 0.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

VERDICT = "verdict"
"""The name of the case that is a study's verdict; the others are its components."""
NONE = "no verdict"
"""The state of a study whose endpoint has no margin."""
PASSED, BIASED, UNDECIDED, UNREADABLE = range(4)
WORDS = ("no bias beyond the margin", "biased beyond the margin", "undecided")


def verdicts(text: str) -> dict[str, tuple[int, str]]:
    """Give the outcome and the sentence of each study's verdict; studies whose endpoint has no margin have none."""
    outcomes = {}
    for case in ET.fromstring(text).iter("testcase"):  # noqa: S314  (our own run has written it)
        skipped = case.find("skipped")
        if case.get("name") != VERDICT or (skipped is not None and skipped.get("type") == NONE):
            continue
        kind = BIASED if case.find("failure") is not None else PASSED if skipped is None else UNDECIDED
        outcomes[case.get("classname", "").rpartition(".")[2]] = (kind, case.findtext("system-out", ""))
    return outcomes


def exit_code(found: dict[str, tuple[int, str]]) -> int:
    """Give the worst outcome; nothing decided is undecided."""
    kinds = {kind for kind, _ in found.values()}
    return BIASED if BIASED in kinds else UNDECIDED if UNDECIDED in kinds or not kinds else PASSED


def main(*words: str) -> int:
    """Print the verdicts, and give the exit code."""
    *options, path = words
    try:
        outcomes = verdicts(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ET.ParseError) as error:
        print(f"{path}: cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return UNREADABLE
    for study, (kind, sentence) in outcomes.items():
        print(f"- **{study}: {WORDS[kind]}.** {sentence}" if options else f"{study}: {WORDS[kind]}")  # noqa: T201
    return 0 if options else exit_code(outcomes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
