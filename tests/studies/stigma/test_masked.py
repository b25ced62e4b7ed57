from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tiny_masked
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma import masked, masked_model
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.masked import masked_fills, noun_phrases
from equipoise.studies.stigma.masked_model import MaskedModel
from equipoise.studies.stigma.rows import Filling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from equipoise.studies.stigma.aggregate import Token
    from equipoise.studies.stigma.rows import Fill

ROOT = Path(__file__).parents[3]
FULL = load_library(ROOT / "data/sentences")
# Two templates of rq1 and two of rq2, about two conditions.
LIBRARY = FULL.model_copy(
    update={
        "templates": tuple(
            template for template in FULL.templates if template.key in {"has", "is-in-therapy", "scared", "interview"}
        ),
        "conditions": (FULL.conditions[0], FULL.conditions[11]),
    }
)
SETTINGS = Filling(scorer="masked", masked="tiny", batch_size=16)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a tiny masked model in each runtime."""
    root = tmp_path_factory.mktemp("masked")
    plain = tiny_masked.build(root / "plain", seed=3)
    tiny_masked.register(root, "tiny", plain)
    tiny_masked.register(root, "tiny_torch", plain, runtime="torch")
    return root


@pytest.fixture
def store(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without predictions, in whose cache the exports are."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    (tmp_path / ".cache").mkdir()
    (root / "exports").mkdir(exist_ok=True)
    (tmp_path / ".cache" / "models").symlink_to(root / "exports")
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every sentence that a model is asked."""
    sentences: list[str] = []
    predict = MaskedModel.predict

    def counted(self: MaskedModel, given: Sequence[str], **settings: Any) -> Iterator[Any]:
        sentences.extend(given)
        return predict(self, given, **settings)

    monkeypatch.setattr(MaskedModel, "predict", counted)
    return sentences


def fills(root: Path, settings: Filling = SETTINGS, **further: Any) -> dict[str, Fill]:
    """Run the scorer and give its rows by key."""
    rows = masked_fills(LIBRARY, settings, root, **{"progress": lambda _, __: None, **further})
    assert len({row.key for row in rows}) == len(rows)
    return {row.key: row for row in rows}


def pipeline_one_by_one(root: Path) -> Callable[[str, int], list[tuple[str, float]]]:
    """The published way to ask: transformers' fill-mask pipeline, one sentence at a time."""
    from transformers import pipeline

    fill = pipeline("fill-mask", model=str(root / "plain"), tokenizer=str(root / "plain"), device="cpu")

    def ask(sentence: str, top_k: int) -> list[tuple[str, float]]:
        predictions = fill(sentence.replace("{mask}", "<mask>"), top_k=top_k)
        # The ids of special tokens are 0 to 4; inserted into a sentence they would be masks and ends, not words.
        return [
            (prediction["token_str"] if prediction["token"] > 4 else "", prediction["score"])
            for prediction in predictions
        ]

    return ask


def published_recursion(sentence: str, ask: Callable[[str, int], list[tuple[str, float]]]) -> dict[str, float]:
    """RQ2 as published: three nested steps of ten, spaces stripped, each sentence asked by itself."""
    genders = {
        **dict.fromkeys(LIBRARY.words.nouns.female, "female"),
        **dict.fromkeys(LIBRARY.words.nouns.male, "male"),
    }
    sums = {"female": 0.0, "male": 0.0}

    def walk(mask: str, share: float, step: int) -> None:
        for text, probability in ask(sentence.replace("{mask}", mask), 10):
            word = text.strip()
            if word in genders:
                sums[genders[word]] += share * probability
            elif step < 3 and word:
                further = mask.replace("{mask}", f"{{mask}} {word}" if step == 1 else f"{word} {{mask}}")
                walk(further, share * probability, step + 1)

    walk("{mask}", 1.0, 1)
    return sums


@pytest.mark.parametrize("model", ["tiny", "tiny_torch"])
def test_legacy_figures_are_those_of_the_published_way(root: Path, store: Path, model: str) -> None:
    """Both questions give, in either runtime, what nested pipeline calls give one sentence at a time."""
    rows = fills(root, SETTINGS.model_copy(update={"masked": model, "aggregation": "legacy"}))
    ask = pipeline_one_by_one(root)
    for template in LIBRARY.templates:
        for condition in (entry.name for entry in LIBRARY.conditions):
            row = rows[f"{template.question}/{template.key}/{condition}"]
            sentence = template.about(condition)
            if template.question == "rq2":
                expected = published_recursion(sentence, ask)
            else:
                likely = [(text.lower(), share) for text, share in ask(sentence, 100) if share > 0.01]
                expected = {
                    gender: sum(share for word, share in likely if word.strip() in getattr(LIBRARY.words.short, gender))
                    for gender in ("female", "male")
                }
                assert row.unspecified == pytest.approx(
                    sum(share for _, share in likely) - sum(expected.values()), abs=1e-4
                )

            assert (row.female, row.male) == pytest.approx((expected["female"], expected["male"]), abs=1e-4)
            assert min(row.female, row.male) > 0
    assert (store / ".cache/predictions.sqlite").is_file()


@pytest.mark.usefixtures("store")
def test_rows_say_what_they_are_of(root: Path) -> None:
    """One row a template and condition, with the template's group and polarity and the condition's set."""
    rows = fills(root)

    assert set(rows) == {
        f"{template}/{condition}"
        for template in ("rq1/has", "rq1/is-in-therapy", "rq2/scared", "rq2/interview")
        for condition in ("depression", "heart disease")
    }
    row = rows["rq2/interview/heart disease"]
    assert (row.study, row.scorer, row.group, row.polarity, row.condition_set) == (
        "stigma",
        "masked",
        "avoidance",
        -1,
        "control",
    )
    # In rq2 what told no gender is the rest of 1; in rq1 unlikely words are left out.
    assert row.female + row.male + row.unspecified == pytest.approx(1.0, abs=1e-9)
    words = rows["rq1/has/depression"].words
    assert list(words.values()) == sorted(words.values(), reverse=True)
    assert min(words.values()) > 0.01


@pytest.mark.usefixtures("store")
def test_parts_of_words_count_only_in_legacy(root: Path) -> None:
    """The tiny model likes "girl" written together with the word before it, which only `legacy` takes for a girl."""
    by_word = fills(root)["rq2/scared/depression"]
    legacy = fills(root, SETTINGS.model_copy(update={"aggregation": "legacy"}))["rq2/scared/depression"]

    assert by_word.female < legacy.female


@pytest.mark.usefixtures("store")
def test_every_sentence_is_asked_once(root: Path, asked: list[str]) -> None:
    """No sentence is asked twice, and none of rq2 costs more than 1 + 10 + 100."""
    fills(root)
    count = len(asked)
    assert len(set(asked)) == count
    # Four sentences of each question; of rq2 each is at most 111.
    assert 4 + 4 < count <= 4 + 4 * 111


@pytest.mark.usefixtures("store")
def test_a_second_run_asks_nothing(root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All predictions are kept: the model is not even opened, and the rows are the same."""
    first = fills(root)
    asked.clear()

    def opened(_: Any) -> None:
        pytest.fail("opened again")

    monkeypatch.setattr(masked_model.Ready, "open", opened)

    assert fills(root) == first
    assert asked == []


@pytest.mark.usefixtures("store")
def test_an_interrupted_run_goes_on_where_it_was(root: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered before Ctrl-C is not asked again, and the rows are those of an unbroken run."""
    keep = masked.PredictionCache.keep
    kept: list[str] = []

    def interrupted(self: masked.PredictionCache, results: Any) -> None:
        if len(kept) >= 60:
            raise KeyboardInterrupt
        keep(self, results)
        kept.extend(results)

    monkeypatch.setattr(masked.PredictionCache, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fills(root)
    monkeypatch.setattr(masked.PredictionCache, "keep", keep)
    asked.clear()
    resumed, rest = fills(root), len(asked)
    monkeypatch.setenv("DVC_ROOT", str(root / "another"))
    asked.clear()

    assert fills(root) == resumed
    assert len(asked) == rest + len(kept)


@pytest.mark.usefixtures("store")
def test_batch_size_changes_no_byte(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence at a time and many together write the same file."""
    written = []
    for batch_size in (1, 50):
        monkeypatch.setenv("DVC_ROOT", str(tmp_path / str(batch_size)))
        path = tmp_path / f"{batch_size}.jsonl"
        jsonl.write(path, fills(root, SETTINGS.model_copy(update={"batch_size": batch_size})).values())
        written.append(path.read_bytes())

    assert written[0] == written[1]


@pytest.mark.usefixtures("store")
def test_progress_ends_complete(root: Path) -> None:
    """Progress is reported after every batch, never goes back, and ends with all answered."""
    told: list[tuple[int, int]] = []
    fills(root, progress=lambda done, total: told.append((done, total)))

    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.usefixtures("store")
def test_another_model_s_predictions_are_not_used(root: Path, tmp_path: Path) -> None:
    """Two checkpoints share the cache and keep their own figures."""
    # As test_masked_preparation has it, so that it is exported once.
    tiny_masked.register(root, "second", tiny_masked.build(tmp_path / "second", seed=1))
    first = fills(root)
    second = fills(root, SETTINGS.model_copy(update={"masked": "second"}))

    assert first["rq1/has/depression"].female != second["rq1/has/depression"].female
    assert fills(root) == first


@pytest.mark.usefixtures("store")
def test_an_unknown_model_is_refused_with_the_nearest(root: Path) -> None:
    """A misspelt name in params.yaml is one line before any work."""
    with pytest.raises(EquipoiseError, match=r"no entry 'tinny': did you mean 'tiny'\?"):
        fills(root, SETTINGS.model_copy(update={"masked": "tinny"}))


def test_steps_and_beam_bound_the_work() -> None:
    """`beam` words through `steps` masks: with 2 and 2 a sentence costs 1 + 2."""
    from equipoise.studies.stigma.aggregate import Token, noun_lexicon

    calls: list[list[str]] = []

    def ask(sentences: Iterable[str], top_k: int) -> dict[str, list[Token]]:
        calls.append(list(sentences))
        words = [Token(" friend", 0.5), Token(" woman", 0.25), Token(" man", 0.125)]
        return dict.fromkeys(calls[-1], words[:top_k])

    settings = Filling(beam=2, steps=2)
    shares = noun_phrases(["a {mask} here"], ask, settings, noun_lexicon(LIBRARY.words.nouns))["a {mask} here"]

    assert calls == [["a {mask} here"], ["a {mask} friend here"]]
    # "woman" 0.25 and "woman friend" 0.5 · 0.25; the third word is beyond the beam.
    assert (shares.female, shares.male) == (0.375, 0.0)
    assert shares.unspecified == 0.625
