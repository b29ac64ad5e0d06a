"""The run: read contexts, ask for what has no answer yet, write the replies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dialoscope.core.errors import BackendError, RunError
from dialoscope.core.progress import bar, notice
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.contexts import ContextRow, Contexts
from dialoscope.data.jsonl import as_line
from dialoscope.data.source import STANDARD_INPUT
from dialoscope.models.registry import licences
from dialoscope.systems.dispatch import ask
from dialoscope.systems.journal import Answers, Progress, opened
from dialoscope.systems.named_systems import system as named
from dialoscope.systems.output import Output, kept, session
from dialoscope.systems.protocol import NoAnswer, Question, System

_ERRORS_SHOWN = 3


def respond(
    contexts: Contexts | str | Path | Iterable[Example | str | Sequence[str]],
    system: System | str | Callable[..., Any],
    output: str | Path | None = None,
    *,
    samples: int = 1,
    seed: int = 0,
    workers: int | None = None,
    name: str | None = None,
    overwrite: bool = False,
    licence: str | None = None,
) -> "Responses":
    """The replies of a system to contexts; what was answered before is not asked again.

    Args:
        contexts: A file, what `read_contexts` returned, examples (their own replies are passed over), or
            lists of turns.
        system: A system, a function, or a text that names one: `smollm2`, `command:./bot`, `bot.py:reply`.
        output: A file for the replies, one row of JSON each. Beside it, while it works, a journal, from which
            a run that was killed goes on; and in the end a record of how the replies came about. Without it
            the replies are in what is returned, and nowhere else.
        samples: How many replies to each context.
        seed: For the system's chance, as far as it heeds it.
        workers: The most questions at once, where the system can take several.
        name: What the system is called in the rows.
        overwrite: Begin anew, and replace what is there.
        licence: `permissive` refuses models and data under other licences, `any` allows all without a word;
            `DIALOSCOPE_LICENCE` if nothing is given.
    """
    plan = Plan.of(Contexts.of(contexts), named(system), samples, seed, name)
    licences.allow(plan.name, plan.system.asset_names, licence)
    if workers is not None and workers < 1:
        raise BackendError(f"workers is {workers}; it must be 1 or more.")
    if output is None:
        answers = _answered(plan, Progress(), workers, lambda name, answer: None)
        return plan.responses(answers, len(answers))
    place = Output(Path(output), plan.identity())
    place.check()
    _refuse_input(place.path, plan.contexts)
    with place.locked():
        return _resumed(plan, place, workers, overwrite=overwrite)


@dataclass(frozen=True)
class Plan:
    """Which rows there will be."""

    contexts: Contexts
    system: System
    samples: int
    seed: int
    name: str

    @classmethod
    def of(cls, contexts: Contexts, system: System, samples: int, seed: int, name: str | None) -> "Plan":
        """A plan that can be carried out."""
        if seed < 0:
            raise BackendError(f"The seed is {seed}; it must be 0 or above.")
        if name == "":
            raise BackendError("The name of the system is empty.")
        system.check_samples(samples)
        return cls(contexts, system, samples, seed, name or system.label)

    def questions(self) -> dict[str, Question]:
        """By the ids of the rows to be; each sample has a seed of its own."""
        return {
            self._row_id(row, sample): Question(row.id, row.context, sample, self.seed + sample)
            for row in self.contexts.rows
            for sample in range(self.samples)
        }

    def _row_id(self, row: ContextRow, sample: int) -> str:
        return row.id if self.samples == 1 else f"{row.id}#{sample + 1}"

    def identity(self) -> dict[str, Any]:
        """What makes replies those of this plan: whoever gives them, and what they are to."""
        asked = sha256()
        for row in self.contexts.rows:
            asked.update(canonical_bytes(Example(row.id, "", "", row.context)))
        return {
            "system": signature(self.system),
            "fingerprint": self.system.fingerprint,
            "samples": self.samples,
            "seed": self.seed,
            "contexts": f"sha256:{asked.hexdigest()}",
        }

    def rows(self, answers: Answers) -> list[dict[str, Any]]:
        """The rows of the output, in the order of the contexts."""
        return [
            self._row(row, self._row_id(row, sample), answers)
            for row in self.contexts.rows
            for sample in range(self.samples)
        ]

    def _row(self, row: ContextRow, name: str, answers: Answers) -> dict[str, Any]:
        group = row.group or (row.id if self.samples > 1 else "")
        ours = {
            "id": name,
            **({"group": group} if group else {}),
            "system": self.name,
            "context": list(row.context),
            **kept(answers[name]),
        }
        return {**ours, **{column: value for column, value in row.others.items() if column not in ours}}

    def responses(self, answers: Answers, asked: int) -> "Responses":
        """What came of it."""
        return Responses(self.name, tuple(self.rows(answers)), asked, self.contexts)


@dataclass(frozen=True)
class Responses:
    """What a system replied."""

    name: str
    rows: tuple[Mapping[str, Any], ...]
    """One for each reply, as in the file: `id`, `system`, `context`, `response` or `error`, and what else the
    row of the context held."""
    asked: int
    """How many of them were asked for in this run; the others were there already."""
    contexts: Contexts

    @property
    def errors(self) -> dict[str, str]:
        """By the ids of rows without a reply, why there is none."""
        return {row["id"]: row["error"] for row in self.rows if "error" in row}

    @property
    def examples(self) -> list[Example]:
        """The replies, to be scored."""
        return [
            Example(
                row["id"],
                row["system"],
                row["response"],
                tuple(row["context"]),
                tuple(row.get("references", ())),
                row.get("group", ""),
                tuple(row.get("speakers", ())),
            )
            for row in self.rows
            if "response" in row
        ]

    def lines(self) -> list[str]:
        """The rows as JSON."""
        return [as_line(row).decode().removesuffix("\n") for row in self.rows]

    def summary(self) -> list[str]:
        """What there is to know, in sentences."""
        before, all_of = len(self.rows) - self.asked, len(self.rows)
        repeated, skipped = self.contexts.repeated, self.contexts.skipped
        notes = [
            (repeated, f"{repeated:,} rows repeat the id and context of another, and were asked once."),
            (skipped, f"{skipped:,} malformed rows were left out."),
            (before, f"{before:,} of {all_of:,} replies were there already; asked for {self.asked:,}."),
        ]
        return [text for number, text in notes if number]

    def complaint(self) -> str:
        """How much has no reply, and why; empty where nothing is to be complained of."""
        if not self.errors:
            return ""
        first = [
            f"  {printable(name)}: {printable(why)}"
            for name, why in list(self.errors.items())[:_ERRORS_SHOWN]
        ]
        left = len(self.errors) - len(first)
        more = [f"  ... and {left:,} more"] if left else []
        head = f"{len(self.errors):,} of {len(self.rows):,} questions have no reply:"
        return "\n".join([head, *first, *more])


def _refuse_input(output: Path, contexts: Contexts) -> None:
    paths = [path for path in (contexts.source or {}).get("paths", ()) if path != STANDARD_INPUT]
    if str(output.resolve()) in paths:
        raise RunError(f"{printable(str(output))} holds the contexts; choose another name for the replies.")


def _resumed(plan: Plan, output: Output, workers: int | None, *, overwrite: bool) -> Responses:
    before = output.progress(overwrite=overwrite)
    left = sum(name not in before.answers for name in plan.questions())
    if not left and output.holds([as_line(row) for row in plan.rows(before.answers)]):
        return plan.responses(before.answers, 0)
    begun = session(plan.system, left)
    with opened(output.journal, output.identity, before) as journal:
        journal.begin(begun)
        try:
            answers = _answered(plan, before, workers, journal.note)
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.add_note("Stopped. What was answered is kept; the same command goes on from there.")
            notice(stop.__notes__[-1])
            raise
    found = plan.responses(answers, left)
    record = {
        "name": plan.name,
        "source": plan.contexts.source,
        "replies": len(found.rows),
        "errors": len(found.errors),
        "sessions": [*before.sessions, begun],
    }
    output.finish([as_line(row) for row in found.rows], record)
    return found


def _answered(
    plan: Plan, before: Progress, workers: int | None, note: Callable[[str, str | NoAnswer], None]
) -> Answers:
    """All answers: those from before, and those to whatever is left."""
    left = {name: question for name, question in plan.questions().items() if name not in before.answers}
    names = {question: name for name, question in left.items()}
    answers: Answers = {}
    with bar(f"Asking {plan.name}", len(left), unit="replies") as advance:

        def told(question: Question, answer: str | NoAnswer) -> None:
            note(names[question], answer)
            answers[names[question]] = answer
            advance(1)

        ask(plan.system, list(left.values()), workers, told)
    return {**before.answers, **answers}
