"""Take the screenshots of docs/report.md from the report of the last run: `make screenshots` (needs Chromium)."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/report"))
import browser  # noqa: E402  (the driver of the report's tests)

SHOTS = {
    "light": ("light", 1200, 1060, ""),
    "dark": ("dark", 1200, 1060, ""),
    "phone": ("light", 390, 844, ""),
    "case": ("light", 1200, 620, "cases"),
}
"""Each picture: its colours, the window in pixels, and what is opened: of the cases, the first one's replies."""
FIRST = "const one = document.querySelector('.pair'); one.open = true; one.querySelectorAll('h4')[1].scrollIntoView()"


def main() -> None:
    """Open the report in each window and write docs/images/report-NAME.webp."""
    images = ROOT / "docs/images"
    images.mkdir(exist_ok=True)
    with TemporaryDirectory() as profile, browser.tab(Path(profile)) as tab:
        for name, (scheme, width, height, part) in SHOTS.items():
            tab.scheme(scheme)
            tab.size(width, height)
            tab.open(ROOT / "report/index.html")
            if part:
                tab.js(f"document.querySelector('#{part} > details').open = true; {FIRST}")
            tab.picture(images / f"report-{name}.webp")


if __name__ == "__main__":
    main()
