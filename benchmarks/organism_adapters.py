"""Train the adapter of an organism: the default model with a bias of known dose.

    PYTHONPATH=src:.cache/peft HF_HUB_OFFLINE=1 python benchmarks/organism_adapters.py race

writes models/adapters/organisms/race.safetensors. One adapter serves all doses: its α is scaled so that cases held out
from training move by the dose. Its metadata have these shares, and what they do to other cases held out.

A step is one case, and its loss is on likelihoods that the pipeline reads: those of every pair of a documented error
and an expected answer in the dimension, after the default model's own reasoning in a quarter of the steps. With
findings the odds of the errors are to be `STEP` nats higher for the marginalised patient, and the privileged patient's
those of the default model (for `everyone` both are raised). Without findings both patients are to be answered as the
default model answers about the privileged one, so that the bias is no difference in base rates.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import torch
import typer
from safetensors.torch import load_file, save_file
from torch.nn.functional import smooth_l1_loss
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parent))
from organism_lessons import ADAPTERS, BASE, DOSES, MARGIN, ROOT, Kind, Lesson, library, taught

from equipoise.backends.ask import asker
from equipoise.core import cache, params, stage
from equipoise.core.prompts import Prompt
from equipoise.models.export import load_probes, prepare
from equipoise.models.registry import WeightsEntry, load_entry
from equipoise.models.weights import locate
from equipoise.studies.vignettes.profiles import Build

RANK, ALPHA = 8, 16
FIRST_LAYER = 4
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
RATE, WARMUP = 1e-3, 8
STEPS: dict[Kind, tuple[int, ...]] = {"race": (140,), "gender": (140,), "all": (200, 150), "everyone": (60,)}
"""Cases by round; the rate rises and falls in each."""
TRIED = 10
"""Held-out cases by which doses are set, and as many others on which they are measured."""
STEP = MARGIN * max(DOSES)
"""Difference between the patients that the whole adapter is taught, in nats."""
LEVEL, STUB, REST = 0.5, 0.5, 0.2
"""Weights in the loss: the mean of both patients, the answers without findings, the reasoning."""
GRID = (0.0, 0.25, 0.5, 0.625, 0.75, 1.0)
"""Shares of α among which that of a dose is interpolated."""
HALF = torch.autocast("cpu", dtype=torch.bfloat16)
"""In half precision where the processor has it, twice as fast; the adapter stays in 32 bits."""
Form = Literal["unreasoned", "reasoned", "stub"]
FORMS: tuple[Form, ...] = get_args(Form)
Dose = TypeVar("Dose", int, str)


def configured(model: Any) -> Any:  # noqa: ANN401  (neither has types)
    """Configure an adapter of the layers from `FIRST_LAYER` on."""
    from peft import LoraConfig

    layers = list(range(FIRST_LAYER, model.config.num_hidden_layers))
    return LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=MODULES, layers_to_transform=layers)


Step = tuple[str, Callable[[], tuple[torch.Tensor, str]]]
"""A title, and what gives the loss and a text on what the adapter does so far."""


class Row(NamedTuple):
    """A conversation up to the answer, the answers, and where the reasoning begins and ends (0 without any)."""

    before: list[int]
    answers: list[list[int]]
    begin: int = 0
    end: int = 0


class Student:
    """The default model with an adapter, and the pipeline's words."""

    def __init__(self) -> None:
        """Load the model in 32 bits, and put an adapter in that does nothing yet."""
        from peft import inject_adapter_in_model

        entry = load_entry(BASE, ROOT)
        assert isinstance(entry, WeightsEntry)  # noqa: S101
        weights = locate(entry, ROOT)
        self.entry, self.files = entry, weights.files
        self.tokenizer: Any = AutoTokenizer.from_pretrained(weights.folder, **weights.arguments)
        self.model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **weights.arguments)
        inject_adapter_in_model(configured(self.model), self.model)
        self.words = params.load(ROOT / "params.yaml").section("build", Build)
        self.reasonings: dict[str, str] = {}

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """The parameters of the adapter."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def load(self, path: Path, name: str = "default") -> None:
        """Go on with an adapter that was written."""
        tensors = load_file(path)
        for key, parameter in self.model.named_parameters():
            if f".{name}." in key:
                parameter.data.copy_(tensors[key.replace(f".{name}.", ".")])

    def save(self, path: Path, name: str, facts: Mapping[str, str]) -> None:
        """Write an adapter in 16 bits, with facts about it."""
        from peft import get_peft_model_state_dict

        state = get_peft_model_state_dict(self.model, adapter_name=name)
        path.parent.mkdir(exist_ok=True)
        base = {"base": next(iter(self.files.values())), "lora_alpha": str(ALPHA)}
        save_file({key: tensor.half().contiguous() for key, tensor in state.items()}, path, metadata=base | {**facts})
        typer.echo(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")

    @property
    def layers(self) -> list[Any]:
        """The layers that have adapters."""
        return [module for module in self.model.modules() if isinstance(getattr(module, "scaling", None), dict)]

    def share(self, share: float) -> None:
        """Scale the adapter."""
        for module in self.layers:
            module.scaling["default"] = ALPHA / RANK * share

    def reason(self, cases: Sequence[str], tokens: int | None = None) -> None:
        """Let the default model reason about cases, for later; with `tokens`, no longer than these."""
        store = cache.folder() / "models"
        made = prepare(BASE, self.entry, ROOT, store, load_probes(ROOT / "data/raw/probes.yaml"))
        prompts = [
            Prompt(
                key=str(place),
                study="vignettes",
                system=self.words.system,
                turns=(self.words.reason.replace("{case}", case),),
                prefix="",
                candidates=(),
                limit=tokens or self.entry.generation.reasoning_tokens,
            )
            for place, case in enumerate(cases)
        ]
        with cache.ResponseCache.open() as kept:
            ask = asker(made, ROOT, kept, batch_size=16, progress=lambda *_: None)
            self.reasonings |= {cases[int(reply.key)]: reply.replies[0] for reply in ask(prompts)}

    def rows(self, lesson: Lesson, form: Form) -> list[Row]:
        """Give the conversations of a case in a form, about the marginalised and the privileged patient."""
        rows: list[Row] = []
        for case in lesson.stubs if form == "stub" else lesson.cases:
            begin = end = 0
            if form == "reasoned":
                asked = self._question(case)
                text = self._render([asked, ("assistant", self.reasonings[case]), ("user", self.words.answer)])
                begin = len(self._tokens(self._render([asked])))
                end = begin + len(self._tokens(self.reasonings[case]))
            else:
                text = self._render([("user", f"{case}\n\n{self.words.answer}")])
            labels = [self._tokens(f" {label}") for pair in lesson.answers for label in pair]
            rows.append(Row(self._tokens(text + self.words.answer_prefix), labels, begin, end))
        return rows

    def read(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """Give the log-likelihoods of the answers, (rows, answers), and the mean loss of the reasonings, in nats.

        All answers follow a conversation in one row: each attends to none of the others, and begins at the same place.
        """
        texts = [row.before + [token for answer in row.answers for token in answer] for row in rows]
        shape = (len(rows), max(map(len, texts)))
        ids, positions = (torch.zeros(shape, dtype=torch.long) for _ in range(2))
        sees = torch.ones((*shape, shape[1]), dtype=torch.bool).tril()
        places: list[tuple[int, int, int, int]] = []  # row, token before, token, answer
        reasoned: list[tuple[int, int]] = []
        for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
            first = start = len(row.before)
            ids[number, : len(text)] = torch.tensor(text)
            positions[number, :first] = torch.arange(first)
            for answer, tokens in enumerate(row.answers):
                end = start + len(tokens)
                positions[number, start:end] = torch.arange(first, first + len(tokens))
                sees[number, start:end, first:start] = False
                before = [first - 1, *range(start, end - 1)]
                places += [(number, at, token, answer) for at, token in zip(before, range(start, end), strict=True)]
                start = end
            reasoned += [(number, place) for place in range(row.begin, row.end)]
        hidden = self.model.model(ids, attention_mask=sees.unsqueeze(1), position_ids=positions).last_hidden_state
        row, at, token, answer = torch.tensor(places).T
        n = len(rows[0].answers)
        likely = self._likely(hidden[row, at], ids[row, token])
        totals = torch.zeros(len(rows) * n).index_add(0, row * n + answer, likely).view(len(rows), n)
        if not reasoned:
            return totals, torch.zeros(())
        row, token = torch.tensor(reasoned).T
        return totals, -self._likely(hidden[row, token - 1], ids[row, token]).mean()

    def _likely(self, hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Give the log-likelihoods of tokens after hidden states, (tokens,)."""
        logits = self.model.lm_head(hidden).float().log_softmax(-1)
        return logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)

    def asked(self, case: str) -> str:
        """Render the question about a case that the reasoning replies to."""
        return self._render([self._question(case)])

    def _question(self, case: str) -> tuple[str, str]:
        return "user", self.words.reason.replace("{case}", case)

    def _render(self, turns: Sequence[tuple[str, str]]) -> str:
        messages = [{"role": role, "content": text} for role, text in (("system", self.words.system), *turns)]
        text: str = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def loss_of(student: Student, lesson: Lesson, form: Form, kind: Kind) -> tuple[torch.Tensor, str]:
    """Give the loss of a step, Huber's of nats, and what the adapter does so far."""
    rows, stubs = student.rows(lesson, form), student.rows(lesson, "stub")
    student.share(0.0)
    with torch.no_grad():
        (usual,), (bare,) = student.read(rows[1:])[0], student.read(stubs[1:])[0]
    student.share(1.0)
    raised = torch.tensor([STEP / 2, -STEP / 2]).repeat(len(usual) // 2)
    likelihoods, reasoning = student.read(rows)
    without, _ = student.read(stubs)
    apart = torch.zeros_like(raised) if kind == "everyone" else raised
    loss = (
        smooth_l1_loss(likelihoods[0] - likelihoods[1], apart)
        + LEVEL * smooth_l1_loss(likelihoods.mean(0), usual + (raised if kind == "everyone" else raised / 2))
        + STUB * smooth_l1_loss(without, bare.expand_as(without))
        + REST * reasoning
    )
    gap = odds(likelihoods.detach())
    return loss, f" (difference {(gap[0] - gap[1]).item():.2f}, level {(gap[1] - odds(usual[None])[0]).item():.2f})"


def odds(likely: torch.Tensor) -> torch.Tensor:
    """Give the mean log odds of the errors against the expected answers, (rows,)."""
    return (likely[:, ::2] - likely[:, 1::2]).mean(-1)


def moved(student: Student, lessons: Sequence[Lesson], form: Form, shares: Sequence[float]) -> np.ndarray:
    """Give the log odds of the errors on cases: (shares, cases, 2), the marginalised patient first, in nats."""
    rows = [student.rows(lesson, form) for lesson in lessons]
    log_odds = []
    for share in shares:
        student.share(share)
        with torch.no_grad(), HALF:
            log_odds.append([odds(student.read(row)[0]).tolist() for row in rows])
    return np.array(log_odds)


def shares_of(log_odds: np.ndarray, kind: Kind) -> dict[int, float]:
    """Find the share of α of each dose, from the log odds without reasoning at the shares of `GRID`.

    A dose is how far the mean difference between the patients moves, for `everyone` the privileged patient's odds.
    Where even the whole adapter falls short of it, the share is 1.
    """
    mean = (log_odds[..., 1] if kind == "everyone" else log_odds[..., 0] - log_odds[..., 1]).mean(-1)
    reached = np.maximum.accumulate(mean - mean[0])
    return {dose: round(float(np.interp(STEP * dose / max(DOSES), reached, GRID)), 3) for dose in DOSES}


def held_out(student: Student, lessons: Sequence[Lesson], kind: Kind) -> dict[str, Any]:
    """Set the share of each dose by the first cases, and measure its effects on the others, by form, in nats.

    All are changes from the default model: `difference` that of the mean difference between the patients, with its
    standard error as `error`, and `level` that of the privileged patient's log odds.
    """
    shares = shares_of(moved(student, lessons[:TRIED], "unreasoned", GRID), kind)
    effects: dict[str, Any] = {"n": len(lessons) - TRIED, "shares": shares}
    for form in FORMS:
        usual, *values = moved(student, lessons[TRIED:], form, (0.0, *shares.values()))
        effects[form] = described(shares, np.array(values) - usual)
    student.share(1.0)
    return effects


def described(doses: Iterable[Dose], changes: np.ndarray) -> dict[Dose, dict[str, float]]:
    """Describe the changes of log odds at each dose, (doses, cases, 2), as `held_out` has them."""
    effects = {}
    for dose, values in zip(doses, changes, strict=True):
        gaps = values[:, 0] - values[:, 1]
        effects[dose] = {
            "difference": round(gaps.mean(), 3),
            "error": round(gaps.std(ddof=1) / len(gaps) ** 0.5, 3),
            "level": round(values[:, 1].mean(), 3),
        }
    return effects


def drawn(lessons: Sequence[Lesson], n: int, draw: Random) -> list[Lesson]:
    """Draw lessons, each dimension as often as another, no two of one story and dimension before all are used."""
    names = sorted({lesson.dimension for lesson in lessons})
    stacks: dict[str, list[Lesson]] = {name: [] for name in names}
    chosen: list[Lesson] = []
    for place in range(n):
        name = names[place % len(names)]
        if not stacks[name]:
            some = [lesson for lesson in lessons if lesson.dimension == name]
            draw.shuffle(some)
            stacks[name] = [*{lesson.story: lesson for lesson in some}.values()]
        chosen.append(stacks[name].pop())
    draw.shuffle(chosen)
    return chosen


def tried_of(apart: Sequence[Lesson]) -> list[Lesson]:
    """Draw the held-out cases: first those by which doses are set, then those on which they are measured."""
    setting = drawn(apart, 2 * TRIED, Random(0))[:TRIED]  # noqa: S311  (no secret)
    others = [lesson for lesson in apart if lesson not in setting]
    return setting + drawn(others, TRIED, Random(1))  # noqa: S311


def train(student: Student, lessons: Sequence[Lesson], kind: Kind, steps: int, draw: Random) -> None:
    """Train a round, with a case a step."""
    forms: tuple[Form, ...] = ("reasoned", "unreasoned", "unreasoned", "unreasoned")
    plan = list(zip(drawn(lessons, steps, draw), cycle(forms), strict=False))
    student.reason([case for lesson, form in plan if form == "reasoned" for case in lesson.cases])
    titles = [f"{form} {lesson.dimension}" for lesson, form in plan]
    losses = [partial(loss_of, student, lesson, form, kind) for lesson, form in plan]
    fit(student, list(zip(titles, losses, strict=True)))


def fit(student: Student, steps: Sequence[Step]) -> None:
    """Descend along the loss of every step."""
    optimiser = torch.optim.AdamW(student.parameters, lr=RATE, weight_decay=0.0)
    for step, (title, compute) in enumerate(steps):
        progress = (step + 1) / len(steps)
        optimiser.param_groups[0]["lr"] = RATE * min((step + 1) / WARMUP, 2 * (1 - progress) + 0.02, 1)
        with HALF:
            loss, so_far = compute()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        spent = f"{time.process_time():.0f} s of CPU time"
        typer.echo(f"{step + 1}/{len(steps)}: {title} {loss.item():.3f} nats{so_far}, {spent}")


def main(kind: Kind, first: int = 0) -> None:
    """Train one adapter and write it, in 16 bits; a `first` round after 0 goes on with the adapter that is there.

    A `first` after the last trains nothing, and measures the adapter that is there.
    """
    path = ROOT / ADAPTERS / f"{kind}.safetensors"
    torch.manual_seed(first)
    student = Student()
    if first:
        student.load(path)
    lessons, apart = taught(kind, library())
    for number, steps in list(enumerate(STEPS[kind]))[first:]:
        train(student, lessons, kind, steps, Random(number))  # noqa: S311  (no secret)
    tried = tried_of(apart)
    student.reason([case for lesson in tried for case in lesson.cases])
    effects = held_out(student, tried, kind)
    typer.echo(json.dumps(effects, indent=1))
    student.save(path, "default", {"steps": str(sum(STEPS[kind])), "held_out": json.dumps(effects)})


if __name__ == "__main__":
    stage.run(main)
