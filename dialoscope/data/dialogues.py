"""Whole dialogues, given as a list of turns."""

from collections.abc import Sequence

from dialoscope.data.cells import kind, read_text, read_texts, said
from dialoscope.data.problems import BadRow
from dialoscope.records import Dialogue, Example, Turn

_SYSTEM_SPEAKERS = frozenset({"system", "bot", "assistant", "agent", "model", "chatbot"})

EVERYBODY = "*"
"""The name that stands for all speakers."""

_PLAIN_SPEAKERS = ("A", "B")
"""Who speaks by turns where nobody is named; the second is taken to be the system."""


def read_dialogue(turns: object, name: str, system: str, speaker: str | None) -> list[Example]:
    """One example for each turn of the system in this dialogue."""
    if not isinstance(turns, list):
        raise BadRow(f"`turns` is {kind(turns)} where a list is due")
    if not turns:
        raise BadRow("`turns` is empty; leave out dialogues in which nobody speaks")
    dialogue = Dialogue(name, system, tuple(_turn(turn, place) for place, turn in enumerate(turns)))
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue.turns))
    if speaker == EVERYBODY:
        return dialogue.examples(None)
    plain = isinstance(turns[0], str)
    return dialogue.examples(_chosen(speaker or (_PLAIN_SPEAKERS[1] if plain else None), speakers))


def _turn(turn: object, place: int) -> Turn:
    label = f"turn {place + 1}"
    text = read_text(said(turn, label), label)
    if not isinstance(turn, dict):
        return Turn(_PLAIN_SPEAKERS[place % 2], text)
    speaker = read_text(turn.get("speaker", turn.get("role")), f"the speaker of {label}")
    return Turn(speaker, text, read_texts(turn.get("references"), f"`references` of {label}", None))


def _chosen(speaker: str | None, speakers: Sequence[str]) -> str:
    """The speaker under judgement."""
    there_are = f"the speakers are {', '.join(map(repr, speakers))}"
    if speaker is not None:
        if speaker not in speakers:
            raise BadRow(f"nobody called {speaker!r} speaks in this dialogue: {there_are}")
        return speaker
    systems = [name for name in speakers if name.casefold() in _SYSTEM_SPEAKERS]
    if len(systems) == 2:
        # In a chat with a model the assistant speaks, and "system" are the orders it was given.
        systems = [name for name in systems if name.casefold() != "system"]
    if len(systems) != 1:
        raise BadRow(f"which speaker is the system? {there_are}; name one with --speaker NAME")
    return systems[0]
