"""British and American spellings."""

import re

AMERICAN = {
    "aem": "em",
    "aesth": "esth",
    "paed": "ped",
    "gynaec": "gynec",
    "oedem": "edem",
    "oesoph": "esoph",
    r"(?<=n)oea\b": "ea",
    r"(?<=rh)oea\b": "ea",
    r"(?<=behavi)our": "or",
    r"(?<=tum)our": "or",
}
"""British spellings of medicine (haemorrhage, dyspnoea, behaviour) and their American ones."""


def american(wording: str) -> str:
    """The American spelling of a British wording."""
    for british, spelling in AMERICAN.items():
        wording = re.sub(british, spelling, wording)
    return wording
