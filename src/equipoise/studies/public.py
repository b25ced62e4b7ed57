"""The functions of the studies that `import equipoise` offers.

Apart from the registry, this is the only module that names folders of studies. It is kept apart from the registry
because stages import that one, and no stage runs these functions.
"""

from equipoise.studies.cases.api import silent_bias
from equipoise.studies.cases.pairs import vignettes
from equipoise.studies.questions.api import adversarial, equity
from equipoise.studies.stigma.api import stigma

__all__ = ["adversarial", "equity", "silent_bias", "stigma", "vignettes"]
