"""Whole dialogues, given as a list of turns, and who speaks in them and in contexts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from dialoscope.data.cells import kind, read_text, read_texts, said
from dialoscope.data.problems import BadRow, counted
from dialoscope.records import Dialogue, Example, Turn

_SYSTEM_SPEAKERS = frozenset({"system", "bot", "assistant", "agent", "model", "chatbot"})

EVERYBODY = "*"
"""The name that stands for all speakers."""

MOST_TURNS = 10_000
MOST_REPEATED = 2**30
"""Characters in the contexts of all turns together: each turn is in the context of every later one."""

_PLAIN_SPEAKERS = ("A", "B")
"""Who speaks by turns where nobody is named; the second is taken to be the system."""


def read_dialogue(
    turns: object, name: str, system: str, speaker: str | None, speakers: object = None
) -> list[Example]:
    """One example for each turn of the system in this dialogue; `speakers` names those of plain turns."""
    if not isinstance(turns, list):
        raise BadRow(f"`turns` is {kind(turns)} where a list is due")
    if not turns:
        raise BadRow("`turns` is empty; leave out dialogues in which nobody speaks")
    names = () if isinstance(turns[0], dict) else _read_speakers(speakers, (len(turns),))
    dialogue = Dialogue(name, system, tuple(_turn(turn, place, names) for place, turn in enumerate(turns)))
    _check_size(dialogue)
    if names or isinstance(turns[0], dict):
        return _examples(dialogue, speaker)
    examples = _examples(dialogue, speaker or _PLAIN_SPEAKERS[1])
    return [replace(example, speakers=()) for example in examples]


def read_context_speakers(
    context: object, turns: int, speakers: object, speaker: str | None
) -> tuple[str, ...]:
    """Who said each of the turns of a context, and last who replies to it; empty where nobody is named.

    The column `speakers` may name the replier too. Else it is the one that `speaker` names, the one with a
    usual name of a system, or of two speakers the one who did not speak last.
    """
    names = _read_speakers(speakers, (turns, turns + 1))
    if len(names) == turns + 1:
        return names
    if not names and isinstance(context, list):
        names = _named_in(context)
    replier = None if not names else _replier(names, speaker)
    return () if replier is None else (*names, replier)


def _examples(dialogue: Dialogue, speaker: str | None) -> list[Example]:
    if speaker == EVERYBODY:
        return dialogue.examples(None)
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue.turns))
    return dialogue.examples(_chosen(speaker, speakers))


def _check_size(dialogue: Dialogue) -> None:
    """Refuse a dialogue whose contexts would fill the memory."""
    turns = len(dialogue.turns)
    repeated = sum(accumulate(len(turn.text) for turn in dialogue.turns))
    if turns > MOST_TURNS or repeated > MOST_REPEATED:
        raise BadRow(
            f"the dialogue has {turns:,} turns, and their contexts {repeated:,} characters together; at most "
            f"{MOST_TURNS:,} turns and {MOST_REPEATED:,} characters can be read. Split it into several rows"
        )


def _turn(turn: object, place: int, names: Sequence[str]) -> Turn:
    label = f"turn {place + 1}"
    text = read_text(said(turn, label), label)
    if not isinstance(turn, dict):
        return Turn(names[place] if names else _PLAIN_SPEAKERS[place % 2], text)
    speaker = read_text(turn.get("speaker", turn.get("role")), f"the speaker of {label}")
    return Turn(speaker, text, read_texts(turn.get("references"), f"`references` of {label}", None))


def _read_speakers(value: object, counts: tuple[int, ...]) -> tuple[str, ...]:
    """The column `speakers`: a list of names, or a text with a capital letter for each turn."""
    if value is None or value == "":
        return ()
    letters = isinstance(value, str) and value.isalpha() and value.isupper()
    if not letters and not isinstance(value, list):
        raise BadRow(f"`speakers` is {kind(value)} where a list of names, one for each turn, is due")
    names = tuple(value) if isinstance(value, str) else read_texts(value, "`speakers`", None)
    if names and len(names) not in counts:
        raise BadRow(
            f"`speakers` names {counted(len(names), 'speaker')} for {counted(counts[0], 'turn')}; "
            "name one for each turn"
        )
    return names


def _named_in(context: Sequence[object]) -> tuple[str, ...]:
    """Those whom the turns of a context name; nobody unless every turn names one."""
    names = [turn.get("speaker", turn.get("role")) if isinstance(turn, dict) else None for turn in context]
    if not all(isinstance(name, str) and name for name in names):
        return ()
    return tuple(
        read_text(name, f"the speaker of item {place} of `context`") for place, name in enumerate(names, 1)
    )


def _replier(names: Sequence[str], speaker: str | None) -> str | None:
    """Who replies after these; empty: somebody who has not spoken yet; None if it is not clear."""
    if speaker not in (None, EVERYBODY):
        return speaker
    systems = _systems(names)
    if systems:
        return systems[0] if len(systems) == 1 else None
    others = [name for name in dict.fromkeys(names) if name != names[-1]]
    return None if len(others) > 1 else "".join(others)


def _systems(speakers: Sequence[str]) -> list[str]:
    """The speakers with a usual name of a system, each once."""
    systems = [name for name in dict.fromkeys(speakers) if name.casefold() in _SYSTEM_SPEAKERS]
    if len(systems) == 2:
        # In a chat with a model the assistant speaks, and "system" are the orders it was given.
        systems = [name for name in systems if name.casefold() != "system"]
    return systems


def _chosen(speaker: str | None, speakers: Sequence[str]) -> str:
    """The speaker under judgement."""
    there_are = f"the speakers are {', '.join(map(repr, speakers))}"
    if speaker is not None:
        if speaker not in speakers:
            raise BadRow(f"nobody called {speaker!r} speaks in this dialogue: {there_are}")
        return speaker
    systems = _systems(speakers)
    if len(systems) != 1:
        raise BadRow(f"which speaker is the system? {there_are}; name one with --speaker NAME")
    return systems[0]
