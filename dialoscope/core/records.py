"""Replies, the dialogues that they come from, their ratings, and their scores by other metrics."""

import re
from dataclasses import dataclass

_INVISIBLE = re.compile(r"[\s\u200b-\u200d\u2060\ufeff]*")


def is_blank(text: str) -> bool:
    """Whether a text is empty or consists of spaces and characters without width."""
    return not text.strip() or (not text.isascii() and _INVISIBLE.fullmatch(text) is not None)


@dataclass(frozen=True, slots=True)
class Example:
    """One reply to be evaluated."""

    id: str
    system: str
    response: str
    context: tuple[str, ...] = ()
    """The turns before the reply, oldest first."""
    references: tuple[str, ...] = ()
    """Replies to the same context by people."""
    group: str = ""
    """The name shared by a system's replies to variants of one query; empty for a single reply."""
    speakers: tuple[str, ...] = ()
    """The speaker of each turn of the context, then of the reply; empty where the data name nobody."""
    dialogue: str = ""
    """The dialogue of the reply; replies of one dialogue are not independent, and are resampled together."""

    @property
    def has_context(self) -> bool:
        """Whether any turn of the context is not blank."""
        return not all(map(is_blank, self.context))

    @property
    def own_turns(self) -> list[int]:
        """The positions of the turns of the context by the speaker of the reply, oldest first.

        Without names the speakers are assumed to alternate.
        """
        if not self.speakers:
            return list(range(len(self.context) % 2, len(self.context) - 1, 2))
        *before, speaker = self.speakers
        return [position for position, name in enumerate(before) if name == speaker]


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of one aspect of one reply by one rater; no value where that rater gave none."""

    id: str
    system: str
    """The system that replied; empty in files of ratings that do not name it."""
    aspect: str
    rater: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one reply by a metric of another program; no value where it is undefined."""

    id: str
    system: str
    """The system that replied; empty in files of scores that do not name it."""
    metric: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a dialogue."""

    speaker: str
    text: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation, of which the turns of one speaker are evaluated."""

    id: str
    system: str
    turns: tuple[Turn, ...]

    def examples(self, speaker: str | None) -> list[Example]:
        """Return an example for each turn of this speaker, or of all, with the turns before it as context."""
        texts = tuple(turn.text for turn in self.turns)
        speakers = (
            tuple(turn.speaker for turn in self.turns) if any(turn.speaker for turn in self.turns) else ()
        )
        return [
            Example(
                f"{self.id}#{index + 1}",
                self.system,
                turn.text,
                texts[:index],
                turn.references,
                speakers=speakers[: index + 1],
                dialogue=self.id,
            )
            for index, turn in enumerate(self.turns)
            if speaker in (None, turn.speaker)
        ]
