"""The studies' functions that `import equipoise` offers, apart from the registry, which stages import."""

from equipoise.studies.cases.api import silent_bias
from equipoise.studies.cases.pairs import vignettes
from equipoise.studies.questions.api import adversarial, equity
from equipoise.studies.stigma.api import stigma

__all__ = ["adversarial", "equity", "silent_bias", "stigma", "vignettes"]
