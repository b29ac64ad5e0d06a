"""Whole dialogues, given as a list of turns, and the speakers in dialogues and contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, dropwhile

from dialoscope.core.records import Dialogue, Example, Turn
from dialoscope.data.cells import describe_type, read_text, read_texts, turn_text
from dialoscope.data.problems import BadRow, quantity

_SYSTEM_SPEAKERS = frozenset({"system", "bot", "assistant", "agent", "model", "chatbot"})

EVERYBODY = "*"
"""The value of `speaker` that selects all speakers."""

MOST_TURNS = 10_000
MOST_REPEATED = 2**30
"""Maximum number of characters in all contexts of a dialogue: each turn is in every later turn's context."""

_PLAIN_SPEAKERS = ("A", "B")
"""The alternating speakers where nobody is named; the second is assumed to be the system."""


def read_dialogue(
    turns: object, name: str, system: str, speaker: str | None, speakers: object = None
) -> list[Example]:
    """Return one example for each turn of the system in this dialogue.

    `speakers` names the speakers of turns that are plain texts.
    """
    if not isinstance(turns, list):
        raise BadRow(f"`turns` is {describe_type(turns)} where a list is expected")
    if not turns:
        raise BadRow("`turns` is empty; leave out dialogues in which nobody speaks")
    names = () if isinstance(turns[0], dict) else _read_speakers(speakers, (len(turns),))
    dialogue = Dialogue(
        name, system, tuple(_read_turn(turn, index, names) for index, turn in enumerate(turns))
    )
    _check_size(dialogue)
    if speaker is None and not names and _awaits_first_reply(turns):
        return []
    if names or isinstance(turns[0], dict):
        return _make_examples(dialogue, speaker)
    examples = _make_examples(dialogue, speaker or _PLAIN_SPEAKERS[1])
    return [replace(example, speakers=()) for example in examples]


def read_context_speakers(
    context: object, turns: int, speakers: object, speaker: str | None
) -> tuple[str, ...]:
    """Return the speaker of each turn of a context, then the replier; empty where nobody is named.

    The column `speakers` may name the replier, too. Otherwise it is the one that `speaker` names, the one
    with a usual name of a system, or of two speakers the one who did not speak last.
    """
    names = participants = _read_speakers(speakers, (turns, turns + 1))
    if len(names) == turns + 1:
        return names
    if not names and isinstance(context, list):
        names = participants = _read_turn_speakers(context)
        if names and "speaker" not in context[0]:
            participants = _drop_instructions(names)
    replier = None if not names else _find_replier(participants, speaker)
    return () if replier is None else (*names, replier)


def _make_examples(dialogue: Dialogue, speaker: str | None) -> list[Example]:
    if speaker == EVERYBODY:
        return dialogue.examples(None)
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue.turns))
    return dialogue.examples(_choose_speaker(speaker, speakers))


def _check_size(dialogue: Dialogue) -> None:
    """Refuse a dialogue whose contexts would fill the memory."""
    turns = len(dialogue.turns)
    repeated = sum(accumulate(len(turn.text) for turn in dialogue.turns))
    if turns > MOST_TURNS or repeated > MOST_REPEATED:
        raise BadRow(
            f"the dialogue has {turns:,} turns, and their contexts {repeated:,} characters together; at most "
            f"{MOST_TURNS:,} turns and {MOST_REPEATED:,} characters can be read. Split it into several rows"
        )


def _read_turn(turn: object, index: int, names: Sequence[str]) -> Turn:
    label = f"turn {index + 1}"
    text = read_text(turn_text(turn, label), label)
    if not isinstance(turn, dict):
        return Turn(names[index] if names else _PLAIN_SPEAKERS[index % 2], text)
    speaker = read_text(_speaker_of(turn), f"the speaker of {label}")
    return Turn(speaker, text, read_texts(turn.get("references"), f"`references` of {label}", None))


def _read_speakers(value: object, counts: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names in the column `speakers`: a list, or a text with a capital letter for each turn."""
    if value is None or value == "":
        return ()
    is_letters = isinstance(value, str) and value.isalpha() and value.isupper()
    if not is_letters and not isinstance(value, list):
        raise BadRow(
            f"`speakers` is {describe_type(value)} where a list of names, one for each turn, is expected"
        )
    items = [_as_text(name) for name in (value if isinstance(value, list) else str(value))]
    names = read_texts(items, "`speakers`", None)
    if names and len(names) not in counts:
        raise BadRow(
            f"`speakers` names {quantity(len(names), 'speaker')} for {quantity(counts[0], 'turn')}; "
            "name one for each turn"
        )
    return names


def _read_turn_speakers(context: Sequence[object]) -> tuple[str, ...]:
    """Return the speakers named in the turns of a context; none unless every turn names one."""
    names = [_speaker_of(turn) if isinstance(turn, dict) else None for turn in context]
    if any(name is None or name == "" for name in names):
        return ()
    return tuple(
        read_text(name, f"the speaker of item {number} of `context`") for number, name in enumerate(names, 1)
    )


def _speaker_of(turn: Mapping[str, object]) -> object:
    return _as_text(turn.get("speaker", turn.get("role")))


def _as_text(name: object) -> object:
    """Return an integer as text, since speakers are often numbered; any other value as it is."""
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def _drop_instructions(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the speakers of a chat with a model: "system" at its start only is the model's instructions."""
    rest = tuple(dropwhile(lambda role: role == "system", roles))
    return roles if "system" in rest else rest


def _awaits_first_reply(turns: Sequence[object]) -> bool:
    """Whether a chat has only instructions to a model and turns of one user, so that nobody has replied."""
    if not isinstance(turns[0], dict) or "speaker" in turns[0]:
        return False
    roles = tuple(str(_speaker_of(turn)) for turn in turns if isinstance(turn, dict))
    others = _drop_instructions(roles)
    return others != roles and len(set(others)) == 1 and not _find_systems(others)


def _find_replier(names: Sequence[str], speaker: str | None) -> str | None:
    """Return who replies after these; empty if it is somebody who has not spoken, None if it is not clear."""
    if speaker is not None and speaker != EVERYBODY:
        return _match_name(speaker, names) or speaker
    systems = _find_systems(names)
    if systems:
        return systems[0] if len(systems) == 1 else None
    others = [name for name in dict.fromkeys(names) if name != names[-1]]
    return None if len(others) > 1 else "".join(others)


def _match_name(speaker: str, names: Sequence[str]) -> str | None:
    """Return the same name, or the only one that differs in case alone."""
    if speaker in names:
        return speaker
    matches = {name for name in names if name.casefold() == speaker.casefold()}
    return matches.pop() if len(matches) == 1 else None


def _find_systems(speakers: Sequence[str]) -> list[str]:
    """Return the speakers with a usual name of a system, each once."""
    systems = [name for name in dict.fromkeys(speakers) if name.casefold() in _SYSTEM_SPEAKERS]
    if len(systems) == 2:
        # In a chat with a model the assistant speaks, and "system" are the instructions to it.
        systems = [name for name in systems if name.casefold() != "system"]
    return systems


def _choose_speaker(speaker: str | None, speakers: Sequence[str]) -> str:
    """Return the speaker whose turns are evaluated."""
    there_are = f"the speakers are {', '.join(map(repr, speakers))}"
    if speaker is not None:
        match = _match_name(speaker, speakers)
        if match is None:
            raise BadRow(f"nobody called {speaker!r} speaks in this dialogue: {there_are}")
        return match
    systems = _find_systems(speakers)
    if len(systems) != 1:
        raise BadRow(f"which speaker is the system? {there_are}; name one with --speaker NAME")
    return systems[0]
