"""Pairs of utterances made from dialogues, some of which contradict each other, to train an NLI model with.

Collections of entailments are about captions and articles. What speakers of a dialogue contradict is what
they said of themselves, and the answer they gave. So sentences of real utterances are turned into their
opposite (a negation put in or taken out, another number, another name, the other end of a scale), and
opposite answers to the same question are paired. Beside each stands a pair that looks as much alike and does
not contradict, so that neither a "not" nor a likeness alone tells the class.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dialoscope.training.dialogue_split import Turns
from dialoscope.training.styles import spaced, tidied

LABELS = ENTAILMENT, NEUTRAL, CONTRADICTION = ("entailment", "neutral", "contradiction")


class LabelledPair(NamedTuple):
    """Two texts, and what the first says of the second."""

    premise: str
    hypothesis: str
    label: str
    odds: tuple[float, ...] = ()
    """How probable each class is, where a model was asked instead of people."""


def made_pairs(dialogues: Iterable[Turns], most: int, seed: int = 0) -> list[LabelledPair]:
    """So many pairs at most, as many of each class as there are of the rarest, in an order of chance.

    Answers and facts of different people are few and tell most, so that all of them are taken.
    """
    every = [tuple(map(tidied, turns)) for turns in dialogues]
    chance = random.Random(seed)  # noqa: S311 - no secret is made
    rare = [*_different_answers(every, chance), *_swapped_facts(every, chance)]
    common = [pair for turns in every for pair in _of_dialogue(turns, chance)]
    chance.shuffle(rare)
    chance.shuffle(common)
    by_label: dict[str, list[LabelledPair]] = defaultdict(list)
    for pair in dict.fromkeys([*rare, *common]):
        by_label[pair.label].append(pair)
    least = min(most // len(LABELS), *(len(by_label[label]) for label in LABELS))
    even = [pair for pairs in by_label.values() for pair in pairs[:least]]
    chance.shuffle(even)
    return [_restyled(pair, chance) for pair in even]


def _of_dialogue(turns: Turns, chance: random.Random) -> Iterator[LabelledPair]:
    """Sentences against their opposites and themselves, and utterances against the speaker's other ones."""
    for place, turn in enumerate(turns):
        sentences = _sentences(turn)
        others = [other for other in turns[place % 2 :: 2] if other != turn]
        another = chance.choice(others) if others else ""
        if another and len(another) < _LONGEST and len(turn) < _LONGEST:
            yield LabelledPair(turn, another, NEUTRAL)
        for sentence in sentences:
            opposite = opposite_of(sentence, chance)
            if not opposite or len(turn) > _LONGEST:
                continue
            yield LabelledPair(turn, _amid(opposite, another, chance), CONTRADICTION)
            if chance.random() < 0.5:
                yield LabelledPair(opposite, turn, CONTRADICTION)
            yield LabelledPair(*chance.choice([(turn, sentence), (opposite, opposite)]), ENTAILMENT)


def _amid(sentence: str, another: str, chance: random.Random) -> str:
    """The sentence alone, or before or after something else the speaker said."""
    rest = _sentences(another)
    if not rest or chance.random() < 0.5:
        return sentence
    beside = chance.choice(rest)
    return f"{beside} {sentence}" if chance.random() < 0.5 else f"{sentence} {beside}"


def opposite_of(sentence: str, chance: random.Random) -> str:
    """A sentence that cannot be true together with this one; empty where no rule makes one."""
    if sentence.endswith("?"):
        return ""
    made = [rule(sentence, chance) for rule in (_negated, _affirmed, _reversed, _recounted)]
    made = [one for one in made if one and one != sentence]
    return chance.choice(made) if made else ""


def _negated(sentence: str, chance: random.Random) -> str:
    """With a "not" where the first finite verb is one that takes it, or with "do not" before it."""
    if _NEGATION.search(sentence):
        return ""
    if found := _SUBJECT_HELPER.match(sentence):
        helper = found["helper"]
        short = _SHORT.get(helper.lower())
        word = short if short and chance.random() < 0.6 else f"{helper} not"
        return f"{found['subject']} {word}{sentence[found.end() :]}"
    if found := _CONTRACTED.match(sentence):
        return f"{sentence[: found.end()]} not{sentence[found.end() :]}"
    if found := _SUBJECT_VERB.match(sentence):
        no = chance.choice(["don't", "do not", "never"])
        return f"{found['subject']} {no} {found['verb']}{sentence[found.end() :]}"
    return ""


def _affirmed(sentence: str, chance: random.Random) -> str:
    """Without its "not"."""
    if len(_NEGATION.findall(sentence)) != 1:
        return ""
    if found := _DONT.match(sentence):
        return f"{found['subject']} {found['verb']}{sentence[found.end() :]}"
    if found := _HELPER_NOT.search(sentence):
        helper = _WHOLE.get(found["helper"].lower(), found["helper"])
        return f"{sentence[: found.start()]}{helper}{sentence[found.end() :]}"
    if found := _NEVER.search(sentence):
        always = chance.choice(["always ", "often ", ""])
        return f"{sentence[: found.start()]}{always}{sentence[found.end() :]}"
    return ""


def _reversed(sentence: str, chance: random.Random) -> str:
    """With a word replaced by its antonym."""
    places = [found for found in _WORD.finditer(sentence) if found[0].lower() in _ANTONYMS]
    if not places or _NEGATION.search(sentence):
        return ""
    found = chance.choice(places)
    other = chance.choice(_ANTONYMS[found[0].lower()])
    return f"{sentence[: found.start()]}{_cased(other, found[0])}{sentence[found.end() :]}"


def _recounted(sentence: str, chance: random.Random) -> str:
    """With another number."""
    places = list(_NUMBER.finditer(sentence))
    if not places:
        return ""
    found = chance.choice(places)
    word = found[0].lower()
    if word in _NUMBER_WORDS:
        other = chance.choice([number for number in _NUMBER_WORDS if number != word])
        return f"{sentence[: found.start()]}{_cased(other, found[0])}{sentence[found.end() :]}"
    value = int(word)
    other = str(max(1, value + chance.choice([-3, -2, -1, 1, 2, 3, 5, 10, value, 2 * value])))
    return f"{sentence[: found.start()]}{other}{sentence[found.end() :]}" if other != word else ""


def _different_answers(dialogues: Sequence[Turns], chance: random.Random) -> Iterator[LabelledPair]:
    """What different people answered to one question, as if one speaker had said both.

    A yes and a no contradict each other, and so do answers to what has one answer only that share no word.
    """
    for question, answers in _answers(dialogues).items():
        chance.shuffle(answers)
        for one, other in pairwise(answers[:_EACH]):
            sides = {_side(one), _side(other)}
            if sides == {"yes", "no"} or (_ONE_ANSWER.search(question) and not _alike(one, other)):
                yield LabelledPair(one, other, CONTRADICTION)
            elif len(sides) == 1 and sides != {""}:
                yield LabelledPair(one, other, NEUTRAL)


def _answers(dialogues: Sequence[Turns]) -> dict[str, list[str]]:
    """Different answers to each question, by the question's words."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for turns in dialogues:
        for turn, answer in pairwise(turns):
            asked = _sentences(turn)
            said = _sentences(answer)[:1]
            if (
                asked
                and asked[-1].endswith("?")
                and said
                and not said[0].endswith("?")
                and len(answer) < _LONGEST
            ):
                found[" ".join(_WORD.findall(asked[-1].lower()))][answer] = None
    return {question: list(answers) for question, answers in found.items() if len(answers) > 1}


def _alike(one: str, other: str) -> bool:
    """Whether two answers share a word that says something, or one says nothing."""
    words = [
        {word for word in _WORD.findall(text.lower()) if len(word) > 3 and word not in _EMPTY}
        for text in (one, other)
    ]
    return not all(words) or bool(words[0] & words[1])


def _side(answer: str) -> str:
    if _YES.match(answer):
        return "yes"
    return "no" if _NO.match(answer) else ""


def _swapped_facts(dialogues: Sequence[Turns], chance: random.Random) -> Iterator[LabelledPair]:
    """Of what everybody has one of (a home, an age, a favourite dish) somebody else's in its place."""
    facts: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for turns in dialogues:
        for turn in turns:
            for sentence in _sentences(turn):
                for pattern in _FACTS:
                    if (found := pattern.match(sentence)) and len(turn) < _LONGEST:
                        facts[pattern.pattern].append((turn, sentence, found["fact"]))
    for known in facts.values():
        for turn, sentence, fact in known:
            _, _, other = chance.choice(known)
            if fact.lower() in other.lower() or other.lower() in fact.lower():
                yield LabelledPair(turn, sentence, ENTAILMENT)
                continue
            yield LabelledPair(turn, sentence.replace(fact, other), CONTRADICTION)
            another = chance.choice(known)[1]
            if another.startswith("I "):
                yield LabelledPair(turn, another.replace("I ", "My friend ", 1), NEUTRAL)


def _sentences(turn: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+", turn)
    return [part for part in parts if 2 < len(part.split()) <= 30]


def _restyled(pair: LabelledPair, chance: random.Random) -> LabelledPair:
    """As different corpora write: in lower case, or with spaces before punctuation."""
    style = chance.choice(_STYLES)
    return LabelledPair(style(pair.premise), style(pair.hypothesis), pair.label)


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like[:1].isupper() else word


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STYLES: tuple[Callable[[str], str], ...] = (str, str, str.lower, spaced)


_LONGEST = 240
"""Characters of an utterance; longer ones say so much that a made label becomes doubtful."""
_EACH = 40
"""Answers taken for one question; some are asked in every second dialogue."""
_ONE_ANSWER = re.compile(
    r"^(?:(?:so|and|well|oh|ok|then) )?(?:where|when|who|how (?:old|much|many|long|far|often|big|tall)|which|"
    r"what(?:'s| is| was| are| were)? (?:your|the|his|her|its|their|time|day|kind|color|size|do you do|year|"
    r"major|are you (?:studying|majoring)))",
)
"""Questions to which one speaker has one answer."""
_EMPTY = _listed(
    "this that what have with your yeah well just about they them there know think would could really some "
    "very here from were been then than when which will don't it's i'm that's like want much many more also "
    "okay sure haha good nice cool"
)
"""Words that many answers share, whatever they say."""

_OPENING = r"(?:(?:well|oh|yes|no|but|and|so|actually|yeah),? )?"
_SUBJECT = rf"(?P<subject>{_OPENING}(?:i|we|you|he|she|it|they|this|that|there|(?:my|our|your|the) \w+))"
_HELPERS = r"am|is|are|was|were|can|could|will|would|should|must|may|might|have|has|had|did|does|do"
_SHORT = {
    "is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't", "can": "can't", "could": "couldn't",
    "will": "won't", "would": "wouldn't", "should": "shouldn't", "have": "haven't", "has": "hasn't",
    "had": "hadn't", "did": "didn't", "does": "doesn't", "do": "don't", "must": "mustn't",
}  # fmt: skip
_WHOLE = {short[:-3]: whole for whole, short in _SHORT.items()} | {"ca": "can", "wo": "will"}
_VERBS = (
    "like|love|want|need|know|think|believe|live|work|play|enjoy|prefer|eat|drink|drive|read|watch|go|come|"
    "agree|understand|remember|feel|see|hear|hope|wish|mean|trust|own|study|speak|use|wear|listen|travel|"
    "sleep|swim|run|cook|smoke|teach|sing|dance|care|stay|exercise|visit|collect|write|hate|buy|sell|get|make"
)
_SUBJECT_HELPER = re.compile(
    rf"{_SUBJECT} (?P<helper>am|is|are|was|were|can|could|will|would|should|must|have(?= been| \w+ed\b| got)"
    r"|has(?= been| \w+ed\b| got)|did(?= \w))\b(?! not|n't)",
    re.IGNORECASE,
)
_CONTRACTED = re.compile(
    r"(?:i'm|you're|we're|they're|he's|she's|it's|that's|i'll|we'll)(?= )", re.IGNORECASE
)
_SUBJECT_VERB = re.compile(
    rf"(?P<subject>{_OPENING}(?:i|we|you|they)(?: (?:really|also|just|usually|always|often))?)"
    rf" (?P<verb>have|{_VERBS})\b",
    re.IGNORECASE,
)
_DONT = re.compile(
    rf"(?P<subject>{_OPENING}(?:i|we|you|they)(?: (?:really|also|just))?)"
    rf" (?:don't|do not)(?: really)? (?P<verb>have|{_VERBS})\b",
    re.IGNORECASE,
)
_HELPER_NOT = re.compile(rf"\b(?P<helper>{_HELPERS}|ca|wo)(?:n't| not)\b", re.IGNORECASE)
_NEVER = re.compile(r"\bnever ", re.IGNORECASE)
_NEGATION = re.compile(r"n't\b|\b(?:not|never|no|nothing|nobody|none|neither)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w']+")
_NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty",
    "thirty", "forty", "fifty",
)  # fmt: skip
_NUMBER = re.compile(rf"\b(?:\d{{1,5}}|{'|'.join(_NUMBER_WORDS)})\b(?![:.,]?\d)", re.IGNORECASE)
_YES = re.compile(
    r"(?:yes|yeah|yep|sure|of course|certainly|absolutely|definitely|ok\b|okay|all right|i'd love to)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:no\b(?! problem| doubt)|nope|not really|i'm afraid|sorry|never|i don't think so|i can't|not at all)",
    re.IGNORECASE,
)
_FACTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:i|we) (?:live|lived|grew up) in (?P<fact>[\w ]{3,30})[.!,]?$",
        r"i(?:'m| am) from (?P<fact>[\w ]{3,30})[.!,]?$",
        r"my (?:favou?rite \w+|name|birthday|job|hobby|major) is (?P<fact>[\w ]{3,30})[.!,]?$",
        r"i(?:'m| am) (?P<fact>\d+)(?: years old)?[.!]?$",
        r"i(?:'m| am) an? (?P<fact>[\w ]{3,25})[.!]?$",
        r"i work (?:as|at|for|in) (?P<fact>[\w ]{3,30})[.!,]?$",
        r"i(?:'m| am) (?:studying|majoring in) (?P<fact>[\w ]{3,30})[.!,]?$",
        r"it(?:'s| is| will be| costs) (?P<fact>[\d.]+ (?:dollars|yuan|pounds|euros|o'clock|minutes))[.!,]?$",
        r"i(?:'ve| have) (?P<fact>(?:one|two|three|four|no|a|an|\d+) (?:\w+ )?"
        r"(?:dogs?|cats?|kids?|children|sons?|daughters?|brothers?|sisters?))[.!,]?$",
    )
)
_OPPOSITES = (
    "like/hate love/hate loved/hated liked/hated always/never good/bad great/terrible best/worst "
    "better/worse "
    "happy/sad/unhappy hot/cold warm/cold cheap/expensive big/small large/small large/tiny "
    "easy/difficult/hard "
    "young/old new/old early/late fast/slow near/far interesting/boring exciting/boring beautiful/ugly "
    "clean/dirty safe/dangerous rich/poor strong/weak tall/short long/short healthy/sick married/single "
    "open/closed possible/impossible right/wrong true/false same/different more/less many/few before/after "
    "first/last morning/evening today/tomorrow yes/no everyone/nobody everything/nothing inside/outside "
    "enjoy/hate delicious/awful busy/free lucky/unlucky comfortable/uncomfortable agree/disagree "
    "vegetarian/carnivore brother/sister mother/father son/daughter husband/wife boy/girl man/woman "
    "dog/cat dogs/cats summer/winter monday/friday red/blue black/white left/right"
)


def _antonyms(listed: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for group in listed.split():
        first, *others = group.split("/")
        found[first] += others
        for other in others:
            found[other].append(first)
    return dict(found)


_ANTONYMS = _antonyms(_OPPOSITES)
