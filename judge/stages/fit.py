"""Train the reader of passages, phase after phase, from the judge of entailment that has seen sentences."""

import sys
import tempfile
from functools import partial
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from workshop import labels
from workshop.lessons import FitSettings, choose_passages, epoch_pairs, explanation_pairs
from workshop.restore import restore
from workshop.settings import section
from workshop.training import train


def main(params: Path, weights: Path, base: Path, passages: Path, features: Path, checkpoint: Path) -> None:
    """Train from the judge in WEIGHTS, whose architecture is that of BASE, and leave the reader in CHECKPOINT."""

    def progress(step: int, steps: int, loss: float) -> None:
        if step % 50 == 0 or step == steps:
            sys.stderr.write(f"step {step} of {steps}, loss {loss:.3f}\n")

    settings, lexicon = section(params, "fit", FitSettings), load_lexicon(features)
    with tempfile.TemporaryDirectory() as name:
        start = Path(name)
        restore(weights / "model.onnx", base, start)
        for phase in settings.phases:
            new, earlier = (choose_passages(passages, names, settings.held) for names in (phase.passages, phase.again))
            rows = labels.read_implied(labels.anchors() / labels.IMPLIED) if phase.explanations else []
            epoch = partial(epoch_pairs, new, earlier, explanation_pairs(rows, phase, lexicon), lexicon, phase)
            train(start, epoch, phase.train, checkpoint, progress, task="reading")
            start = checkpoint


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
