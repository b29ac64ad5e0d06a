"""What is judged: replies, the dialogues they come from, and what people said of them."""

import re
from dataclasses import dataclass

_INVISIBLE = re.compile(r"[\s\u200b-\u200d\u2060\ufeff]*")


def is_blank(text: str) -> bool:
    """Whether a text says nothing: it is empty, or of spaces and characters without width."""
    return not text.strip() or (not text.isascii() and _INVISIBLE.fullmatch(text) is not None)


@dataclass(frozen=True, slots=True)
class Example:
    """One reply under judgement."""

    id: str
    system: str
    response: str
    context: tuple[str, ...] = ()
    """The turns before the reply, oldest first."""
    references: tuple[str, ...] = ()
    """What people said, or could have said, in its place."""
    group: str = ""
    """What replies of a system to variants of one query have in common; empty for a reply on its own."""
    speakers: tuple[str, ...] = ()
    """Who said each turn of the context, and last who gives the reply; empty where the data name nobody."""
    dialogue: str = ""
    """The dialogue that it was taken from; replies of one are not independent, and are resampled together."""

    @property
    def has_context(self) -> bool:
        """Whether anything was said before; blank turns say nothing."""
        return not all(map(is_blank, self.context))

    @property
    def own_turns(self) -> list[int]:
        """The positions of the context's turns by the speaker of the reply, oldest first.

        Without names the speakers are assumed to alternate.
        """
        if not self.speakers:
            return list(range(len(self.context) % 2, len(self.context) - 1, 2))
        *before, speaker = self.speakers
        return [position for position, name in enumerate(before) if name == speaker]


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater said of one aspect of one reply; no value where that rater gave none."""

    id: str
    system: str
    """Empty in ratings that stand beside the replies and do not say whose reply they are of."""
    aspect: str
    rater: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """What somebody else's metric gave one reply; no value where it is undefined."""

    id: str
    system: str
    """Empty where it is not said whose reply it is."""
    metric: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing somebody said in a dialogue."""

    speaker: str
    text: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation, from which the turns of one speaker are judged."""

    id: str
    system: str
    turns: tuple[Turn, ...]

    def examples(self, speaker: str | None) -> list[Example]:
        """One example for each turn of this speaker, or of all, with what was said before it as context."""
        said = tuple(turn.text for turn in self.turns)
        speakers = (
            tuple(turn.speaker for turn in self.turns) if any(turn.speaker for turn in self.turns) else ()
        )
        return [
            Example(
                f"{self.id}#{place + 1}",
                self.system,
                turn.text,
                said[:place],
                turn.references,
                speakers=speakers[: place + 1],
                dialogue=self.id,
            )
            for place, turn in enumerate(self.turns)
            if speaker in (None, turn.speaker)
        ]
