"""Whole dialogues, given as a list of turns, and who speaks in them and in contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, dropwhile

from dialoscope.core.records import Dialogue, Example, Turn
from dialoscope.data.cells import kind, read_text, read_texts, said
from dialoscope.data.problems import BadRow, counted

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
    if speaker is None and not names and _awaits_first_reply(turns):
        return []
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
    names = spoke = _read_speakers(speakers, (turns, turns + 1))
    if len(names) == turns + 1:
        return names
    if not names and isinstance(context, list):
        names = spoke = _named_in(context)
        if names and "speaker" not in context[0]:
            spoke = _without_orders(names)
    replier = None if not names else _replier(spoke, speaker)
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
    speaker = read_text(_speaker_of(turn), f"the speaker of {label}")
    return Turn(speaker, text, read_texts(turn.get("references"), f"`references` of {label}", None))


def _read_speakers(value: object, counts: tuple[int, ...]) -> tuple[str, ...]:
    """The column `speakers`: a list of names, or a text with a capital letter for each turn."""
    if value is None or value == "":
        return ()
    letters = isinstance(value, str) and value.isalpha() and value.isupper()
    if not letters and not isinstance(value, list):
        raise BadRow(f"`speakers` is {kind(value)} where a list of names, one for each turn, is due")
    listed = [_as_text(name) for name in (value if isinstance(value, list) else str(value))]
    names = read_texts(listed, "`speakers`", None)
    if names and len(names) not in counts:
        raise BadRow(
            f"`speakers` names {counted(len(names), 'speaker')} for {counted(counts[0], 'turn')}; "
            "name one for each turn"
        )
    return names


def _named_in(context: Sequence[object]) -> tuple[str, ...]:
    """Those whom the turns of a context name; nobody unless every turn names one."""
    names = [_speaker_of(turn) if isinstance(turn, dict) else None for turn in context]
    if any(name is None or name == "" for name in names):
        return ()
    return tuple(
        read_text(name, f"the speaker of item {place} of `context`") for place, name in enumerate(names, 1)
    )


def _speaker_of(turn: Mapping[str, object]) -> object:
    return _as_text(turn.get("speaker", turn.get("role")))


def _as_text(name: object) -> object:
    """A whole number as text, since speakers are often numbered; anything else as it is."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def _without_orders(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Those who speak in a chat with a model: where "system" only begins it, those are the model's orders."""
    rest = tuple(dropwhile(lambda role: role == "system", roles))
    return roles if "system" in rest else rest


def _awaits_first_reply(turns: Sequence[object]) -> bool:
    """Whether a chat has only instructions to a model and turns of one user, so that nobody has replied."""
    if not isinstance(turns[0], dict) or "speaker" in turns[0]:
        return False
    roles = tuple(str(_speaker_of(turn)) for turn in turns if isinstance(turn, dict))
    others = _without_orders(roles)
    return others != roles and len(set(others)) == 1 and not _systems(others)


def _replier(names: Sequence[str], speaker: str | None) -> str | None:
    """Who replies after these; empty: somebody who has not spoken yet; None if it is not clear."""
    if speaker is not None and speaker != EVERYBODY:
        return _called(speaker, names) or speaker
    systems = _systems(names)
    if systems:
        return systems[0] if len(systems) == 1 else None
    others = [name for name in dict.fromkeys(names) if name != names[-1]]
    return None if len(others) > 1 else "".join(others)


def _called(speaker: str, names: Sequence[str]) -> str | None:
    """The name that is meant: this very one, or the only one that differs in capital letters alone."""
    if speaker in names:
        return speaker
    alike = {name for name in names if name.casefold() == speaker.casefold()}
    return alike.pop() if len(alike) == 1 else None


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
        called = _called(speaker, speakers)
        if called is None:
            raise BadRow(f"nobody called {speaker!r} speaks in this dialogue: {there_are}")
        return called
    systems = _systems(speakers)
    if len(systems) != 1:
        raise BadRow(f"which speaker is the system? {there_are}; name one with --speaker NAME")
    return systems[0]
