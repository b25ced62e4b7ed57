"""The stages that ask a model or a judge, with `infer.executor: ray` in params.yaml."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
import yaml

import projects
from builders import openr1_message, response
from equipoise.backends import ask as asking
from equipoise.backends.base import Cluster
from equipoise.core import jsonl
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Response
from equipoise.judge.located import LocatedJudge
from equipoise.materials.judgement import Judgement
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import build_pairs
from test_incremental import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from equipoise.backends.base import Opening, Process
    from equipoise.core.prompts import Prompt
    from equipoise.materials.vignette import Role

# Ray leaves its processes and sockets to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.timeout(300),
]

ROOT = Path(__file__).parents[3]
DATA = Path("data")


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A project, made the working folder; called, it sets infer, other sections' keys, and a cache."""
    read = ("diagnoses.yaml", "features", "items", "lexicon", "sentences", "templates")
    for name in (*(f"data/{part}" for part in read), "judge"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "models", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    plain = yaml.safe_load(projects.committed("params.yaml"))

    def configure(name: str, address: str | None = None, **sections: dict[str, Any]) -> None:
        monkeypatch.setenv("DVC_ROOT", str(tmp_path / name))
        infer = {"batch_size": 16, "executor": name, "address": address}
        changed = {section: plain[section] | keys for section, keys in ({"infer": infer} | sections).items()}
        Path("params.yaml").write_text(yaml.safe_dump(plain | changed), encoding="utf-8")

    return configure


def test_score_writes_the_same_bytes(
    configured: Callable[..., None], nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge reads the windows on a cluster reached through ray://, and the judgements are the local run's."""
    library = load_library(ROOT / "data/raw")
    rows = [row for row in build_pairs(library, "core") if row.dimensions == ("race",)][:6]
    told = [
        f"{'The pain came at rest. ' * number}Being {row.features['race']} makes a disease of the heart more likely."
        for number, row in enumerate(rows)
    ]
    given = [
        Response(
            key=row.key,
            study="vignettes",
            replies=(text, row.expected.label),
            finished=(True, True),
            log_likelihood=dict.fromkeys((row.expected.label, row.stereotyped.label), -1.0),
            candidate_tokens=dict.fromkeys((row.expected.label, row.stereotyped.label), 1),
            prompt_tokens=1,
            generated_tokens=1,
        )
        for row, text in zip(rows, told, strict=True)
    ]
    judgements = DATA / "vignettes/judgements.jsonl"
    jsonl.write(DATA / "vignettes/built/vignettes.jsonl", rows)
    jsonl.write(DATA / "vignettes/built/tellings.jsonl", ())
    jsonl.write(DATA / "vignettes/responses.jsonl", given)
    contents = []
    for name, address in (("local", None), ("ray", nodes.client)):
        configured(name, address, score={"answering": "generate"})
        stage("score")("vignettes", DATA)
        contents.append(judgements.read_bytes())
        # Each has a cache of its own, so all is judged anew; and only workers can still open a judge.
        monkeypatch.setattr(LocatedJudge, "open", lambda _: pytest.fail("the judge was opened here"))

    assert contents[0] == contents[1]
    assert [row.mentioned for row in jsonl.read(judgements, Judgement)] == [True] * 6


def test_agreements_are_the_same_bytes(configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address the cluster is started here, and the agreements are the local run's."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'equipoise[ray]'")
    roles: tuple[Role, Role] = ("marginalised", "privileged")
    messages = [openr1_message(role) for role in roles]
    jsonl.write(DATA / "openr1/built/messages.jsonl", messages)
    replies = ("Try to rest. Call me tomorrow.", "You need sleep. Do call.")
    given = [response(message.key, reply, study="openr1") for message, reply in zip(messages, replies, strict=True)]
    jsonl.write(DATA / "openr1/responses.jsonl", given)
    contents = []
    for name in ("local", "ray"):
        configured(name)
        stage("score")("openr1", DATA)
        contents.append((DATA / "openr1/judgements.jsonl").read_bytes())
        monkeypatch.setattr(LocatedJudge, "open", lambda _: pytest.fail("the judge was opened here"))

    assert contents[0] == contents[1]
    assert contents[0].count(b"\n") == 1


class First:
    """Finds every candidate less likely than the one before."""

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer one prompt after another."""
        for prompt in prompts:
            yield Response(
                key=prompt.key,
                study=prompt.study,
                replies=(),
                finished=(),
                log_likelihood={candidate: -1.0 - number for number, candidate in enumerate(prompt.candidates)},
                candidate_tokens=dict.fromkeys(prompt.candidates, 1),
                prompt_tokens=1,
                generated_tokens=0,
            )


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    """The clusters that are reached for a model, which then answers in this process."""
    clusters: list[Cluster] = []

    def instead(
        make: Opening[Prompt, Response], cluster: Cluster, **_: object
    ) -> AbstractContextManager[Process[Prompt, Response]]:
        clusters.append(cluster)
        return make()

    monkeypatch.setattr(asking, "copies", instead)
    monkeypatch.setattr(asking, "open_backend", lambda *_, **__: First())
    return clusters


def test_build_and_infer_ask_on_the_cluster(configured: Callable[..., None], reached: list[Cluster]) -> None:
    """Variants are evaluated, and sentences scored, where the prompts of infer are answered."""
    address = "head:6379"
    configured("ray", address, neutralize={"limit": 1}, perturb={"attempts": 2})
    jsonl.write_json(DATA / "manifest.json", Manifest(model="smollm2", repo="r", revision="v", licence="l").written())
    stage("build")("questions", DATA)
    by_build = len(reached)
    for name in ("build", "infer", "score"):
        stage(name)("stigma", DATA)

    assert by_build >= 1
    assert len(reached) > by_build
    assert set(reached) == {Cluster(address)}
    made = [DATA / f"questions/built/{name}.jsonl" for name in ("variants", "attempts", "prompts")]
    assert all(path.read_bytes() for path in (*made, DATA / "stigma/judgements.jsonl"))
