"""The manifest: the identity of the model under test."""

from typing import Any

from equipoise.core.jsonl import digest
from equipoise.core.row import Frozen, Text


class Fidelity(Frozen):
    """Agreement between exported weights and their reference on the probe set.

    `letters` and `tokens` are proportions of agreement; `max_abs_logit` is an upper bound on the absolute difference
    of any logit, as a power of ten. It differs between processors, so that the tracked manifest leaves it out.
    """

    probes: int
    letters: float
    tokens: float
    max_abs_logit: float | None = None


class Manifest(Frozen):
    """The identity of the model under test: a tracked stand-in for weights too large to track, or for a server.

    `repo` and `revision` give its origin: the hub's id and commit, a package and its version, a server's address and
    the model's name there, or a file of saved answers and its sha256. `weights` and `files` map names to sha256
    digests: of the source's weights, and of the exported files under `.cache/models/<folder>`. `settings` are those of
    its registry entry that affect answers; `system_in_user` says that the user's first turn begins with the system
    text, because the chat template has no place for one. `versions` lists the versions of the libraries that compute
    answers, `exporters` those of the libraries that wrote `files`: an upgrade that leaves the files as they are keeps
    the answers. `likelihoods` says what a server gives, in which form, and what was found when it was asked.
    """

    model: Text
    backend: Text = "onnx"
    repo: Text
    revision: Text
    licence: Text
    weights: dict[str, str] = {}
    folder: Text | None = None
    files: dict[str, str] = {}
    opset: int | None = None
    precision: Text | None = None
    provider: Text | None = None
    settings: dict[str, Any] = {}
    system_in_user: bool = False
    likelihoods: dict[str, str] = {}
    versions: dict[str, str] = {}
    exporters: dict[str, str] = {}
    fidelity: Fidelity | None = None

    @property
    def identity(self) -> str:
        """A digest of everything that affects an answer: the model's part of a cache key.

        Only the form of `likelihoods` counts, and a server without likelihoods has none. The folder of exported files
        is named after their exporters.
        """
        apart = {"exporters", "fidelity", "folder", "likelihoods"}
        form = {name: value for name, value in self.likelihoods.items() if name == "form"}
        return digest({name: value for name, value in self.written().items() if name not in apart} | form)

    def written(self) -> dict[str, Any]:
        """Serialise the manifest as written to its file: without fields that this kind of model does not use."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def tracked(self) -> dict[str, Any]:
        """Serialise the manifest without what differs between machines on which answers do not."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"fidelity": {"max_abs_logit"}})
