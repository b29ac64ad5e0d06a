"""Ask a system for replies to contexts, and write them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dialoscope.core.errors import BackendError, RunError
from dialoscope.core.progress import print_notice, progress_bar
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.data.canonical import canonical_bytes
from dialoscope.data.contexts import ContextRow, Contexts
from dialoscope.data.jsonl import as_line
from dialoscope.data.source import STANDARD_INPUT
from dialoscope.models.registry import licences
from dialoscope.systems.dispatch import ask
from dialoscope.systems.journal import Answers, Progress, open_journal
from dialoscope.systems.named_systems import system as named_system
from dialoscope.systems.output import Output, answer_columns, describe_session
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
    """Ask a system for replies to contexts; contexts that have an answer already are not asked again.

    Args:
        contexts: A file, what `read_contexts` returned, examples (without their replies), or lists of
            turns.
        system: A system, a function, or a text that names one: `smollm2`, `command:./bot`, `bot.py:reply`.
        output: A JSONL file of the replies. Beside it there is a journal during the run, from which an
            interrupted run resumes, and in the end a record of the run. Without an output, replies are
            only returned.
        samples: Number of replies to each context.
        seed: Seed of the system's random choices, if it uses one.
        workers: Maximum number of parallel requests, if the system can take several.
        name: Name of the system in the rows.
        overwrite: Start over, and replace an existing file.
        licence: `permissive` refuses models and data under other licences, `any` allows all without a notice;
            `DIALOSCOPE_LICENCE` by default.
    """
    plan = ResponsePlan.of(Contexts.of(contexts), named_system(system), samples, seed, name)
    licences.allow(plan.name, plan.system.asset_names, licence)
    if workers is not None and workers < 1:
        raise BackendError(f"workers is {workers}; it must be 1 or more.")
    if output is None:
        answers = _ask_rest(plan, Progress(), workers, lambda name, answer: None)
        return plan.responses(answers, len(answers))
    file = Output(Path(output), plan.identity())
    file.check()
    _refuse_input(file.path, plan.contexts)
    with file.lock():
        return _run(plan, file, workers, overwrite=overwrite)


@dataclass(frozen=True)
class ResponsePlan:
    """The rows of a run."""

    contexts: Contexts
    system: System
    samples: int
    seed: int
    name: str

    @classmethod
    def of(
        cls, contexts: Contexts, system: System, samples: int, seed: int, name: str | None
    ) -> "ResponsePlan":
        """A plan with checked settings."""
        if seed < 0:
            raise BackendError(f"The seed is {seed}; it must be 0 or above.")
        if name == "":
            raise BackendError("The name of the system is empty.")
        system.check_samples(samples)
        return cls(contexts, system, samples, seed, name or system.label)

    def questions(self) -> dict[str, Question]:
        """The questions by the ids of their rows; each sample has a seed of its own."""
        return {
            self._row_id(row, sample): Question(row.id, row.context, sample, self.seed + sample)
            for row in self.contexts.rows
            for sample in range(self.samples)
        }

    def _row_id(self, row: ContextRow, sample: int) -> str:
        return row.id if self.samples == 1 else f"{row.id}#{sample + 1}"

    def identity(self) -> dict[str, Any]:
        """The settings that all answers of the run have in common: system, samples, seed and contexts."""
        digest = sha256()
        for row in self.contexts.rows:
            digest.update(canonical_bytes(Example(row.id, "", "", row.context)))
        return {
            "system": signature(self.system),
            "fingerprint": self.system.fingerprint,
            "samples": self.samples,
            "seed": self.seed,
            "contexts": f"sha256:{digest.hexdigest()}",
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
        columns = {
            "id": name,
            **({"group": group} if group else {}),
            "system": self.name,
            "context": list(row.context),
            **answer_columns(answers[name]),
        }
        return {**columns, **{key: value for key, value in row.others.items() if key not in columns}}

    def responses(self, answers: Answers, asked: int) -> "Responses":
        """The result of the run."""
        return Responses(self.name, tuple(self.rows(answers)), asked, self.contexts)


@dataclass(frozen=True)
class Responses:
    """The replies of a system."""

    name: str
    rows: tuple[Mapping[str, Any], ...]
    """One for each reply, as in the file: `id`, `system`, `context`, `response` or `error`, and the other
    columns of the context's row."""
    asked: int
    """Number of replies that this run asked for; the others were there already."""
    contexts: Contexts

    @property
    def errors(self) -> dict[str, str]:
        """The reasons why there is no reply, by the ids of rows."""
        return {row["id"]: row["error"] for row in self.rows if "error" in row}

    @property
    def examples(self) -> list[Example]:
        """The replies as examples, which can be scored."""
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
        """Notes on repeated, malformed and answered rows."""
        before, total = len(self.rows) - self.asked, len(self.rows)
        repeated, skipped = self.contexts.repeated, self.contexts.skipped
        notes = [
            (repeated, f"{repeated:,} rows repeat the id and context of another, and were asked once."),
            (skipped, f"{skipped:,} malformed rows were left out."),
            (before, f"{before:,} of {total:,} replies were there already; asked for {self.asked:,}."),
        ]
        return [text for number, text in notes if number]

    def complaint(self) -> str:
        """The number of questions without a reply, and the first reasons; empty if there are none."""
        if not self.errors:
            return ""
        first = [
            f"  {printable(name)}: {printable(reason)}"
            for name, reason in list(self.errors.items())[:_ERRORS_SHOWN]
        ]
        left = len(self.errors) - len(first)
        more = [f"  ... and {left:,} more"] if left else []
        head = f"{len(self.errors):,} of {len(self.rows):,} questions have no reply:"
        return "\n".join([head, *first, *more])


def _refuse_input(output: Path, contexts: Contexts) -> None:
    paths = [path for path in (contexts.source or {}).get("paths", ()) if path != STANDARD_INPUT]
    if str(output.resolve()) in paths:
        raise RunError(
            f"{printable(str(output))} is the file of contexts; choose another name for the replies."
        )


def _run(plan: ResponsePlan, output: Output, workers: int | None, *, overwrite: bool) -> Responses:
    """Ask for the answers that are missing, and write the output."""
    before = output.progress(overwrite=overwrite)
    left = sum(name not in before.answers for name in plan.questions())
    if not left and output.holds([as_line(row) for row in plan.rows(before.answers)]):
        return plan.responses(before.answers, 0)
    session = describe_session(plan.system, left)
    with open_journal(output.journal, output.identity, before) as journal:
        journal.begin(session)
        try:
            answers = _ask_rest(plan, before, workers, journal.note)
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.add_note("Interrupted. Answers so far are saved; the same command resumes.")
            print_notice(stop.__notes__[-1])
            raise
    responses = plan.responses(answers, left)
    record = {
        "name": plan.name,
        "source": plan.contexts.source,
        "replies": len(responses.rows),
        "errors": len(responses.errors),
        "sessions": [*before.sessions, session],
    }
    output.finish([as_line(row) for row in responses.rows], record)
    return responses


def _ask_rest(
    plan: ResponsePlan, before: Progress, workers: int | None, note: Callable[[str, str | NoAnswer], None]
) -> Answers:
    """All answers: those from before, and those to the remaining questions."""
    left = {name: question for name, question in plan.questions().items() if name not in before.answers}
    names = {question: name for name, question in left.items()}
    answers: Answers = {}
    with progress_bar(f"Asking {plan.name}", len(left), unit="replies") as advance:

        def on_answer(question: Question, answer: str | NoAnswer) -> None:
            note(names[question], answer)
            answers[names[question]] = answer
            advance(1)

        ask(plan.system, list(left.values()), workers, on_answer)
    return {**before.answers, **answers}
