"""Pairs of utterances generated from dialogues by rules, to train a classifier of contradictions on.

Labelled collections of entailment are about captions and articles. Speakers of a dialogue contradict what
they said about themselves, and their own answers. So rules turn sentences of real utterances into their
opposites (a negation added or removed, another number, another name, an antonym), and pair opposite answers
to the same question. For each there is a similar pair that does not contradict, so that neither a "not" nor a
similarity alone predicts the class.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dialoscope.training.dialogue_split import Turns
from dialoscope.training.styles import add_spaces, remove_spaces

LABELS = ENTAILMENT, NEUTRAL, CONTRADICTION = ("entailment", "neutral", "contradiction")


class LabelledPair(NamedTuple):
    """Two texts, and the class of the pair."""

    premise: str
    hypothesis: str
    label: str
    odds: tuple[float, ...] = ()
    """The probability of each class, where a model labelled the pair."""


def generate_pairs(dialogues: Iterable[Turns], limit: int, seed: int = 0) -> list[LabelledPair]:
    """At most so many pairs, equally many of each class, in random order.

    Pairs of answers and facts of different people are rare and most informative, so they come first.
    """
    tidy = [tuple(map(remove_spaces, turns)) for turns in dialogues]
    rng = random.Random(seed)  # noqa: S311 - no secret is made
    rare = [*_pair_answers(tidy, rng), *_swap_facts(tidy, rng)]
    common = [pair for turns in tidy for pair in _pair_sentences(turns, rng)]
    rng.shuffle(rare)
    rng.shuffle(common)
    by_label: dict[str, list[LabelledPair]] = defaultdict(list)
    for pair in dict.fromkeys([*rare, *common]):
        by_label[pair.label].append(pair)
    least = min(limit // len(LABELS), *(len(by_label[label]) for label in LABELS))
    even = [pair for pairs in by_label.values() for pair in pairs[:least]]
    rng.shuffle(even)
    return [_restyle(pair, rng) for pair in even]


def _pair_sentences(turns: Turns, rng: random.Random) -> Iterator[LabelledPair]:
    """Sentences against their opposites and themselves, and utterances against the speaker's other ones."""
    for index, turn in enumerate(turns):
        sentences = _split_sentences(turn)
        others = [other for other in turns[index % 2 :: 2] if other != turn]
        another = rng.choice(others) if others else ""
        if another and len(another) < _LONGEST and len(turn) < _LONGEST:
            yield LabelledPair(turn, another, NEUTRAL)
        for sentence in sentences:
            opposite = opposite_of(sentence, rng)
            if not opposite or len(turn) > _LONGEST:
                continue
            yield LabelledPair(turn, _embed(opposite, another, rng), CONTRADICTION)
            if rng.random() < 0.5:
                yield LabelledPair(opposite, turn, CONTRADICTION)
            yield LabelledPair(*rng.choice([(turn, sentence), (opposite, opposite)]), ENTAILMENT)


def _embed(sentence: str, another: str, rng: random.Random) -> str:
    """The sentence alone, or before or after another sentence of the speaker."""
    rest = _split_sentences(another)
    if not rest or rng.random() < 0.5:
        return sentence
    other = rng.choice(rest)
    return f"{other} {sentence}" if rng.random() < 0.5 else f"{sentence} {other}"


def opposite_of(sentence: str, rng: random.Random) -> str:
    """A sentence that contradicts this one; empty where no rule applies."""
    if sentence.endswith("?"):
        return ""
    results = [rule(sentence, rng) for rule in (_negate, _affirm, _reverse, _recount)]
    results = [result for result in results if result and result != sentence]
    return rng.choice(results) if results else ""


def _negate(sentence: str, rng: random.Random) -> str:
    """The sentence with "not" after an auxiliary verb, or with "do not" before another verb."""
    if _NEGATION.search(sentence):
        return ""
    if match := _SUBJECT_HELPER.match(sentence):
        helper = match["helper"]
        short = _SHORT.get(helper.lower())
        word = short if short and rng.random() < 0.6 else f"{helper} not"
        return f"{match['subject']} {word}{sentence[match.end() :]}"
    if match := _CONTRACTED.match(sentence):
        return f"{sentence[: match.end()]} not{sentence[match.end() :]}"
    if match := _SUBJECT_VERB.match(sentence):
        no = rng.choice(["don't", "do not", "never"])
        return f"{match['subject']} {no} {match['verb']}{sentence[match.end() :]}"
    return ""


def _affirm(sentence: str, rng: random.Random) -> str:
    """The sentence without its "not"."""
    if len(_NEGATION.findall(sentence)) != 1:
        return ""
    if match := _DONT.match(sentence):
        return f"{match['subject']} {match['verb']}{sentence[match.end() :]}"
    if match := _HELPER_NOT.search(sentence):
        helper = _WHOLE.get(match["helper"].lower(), match["helper"])
        return f"{sentence[: match.start()]}{helper}{sentence[match.end() :]}"
    if match := _NEVER.search(sentence):
        always = rng.choice(["always ", "often ", ""])
        return f"{sentence[: match.start()]}{always}{sentence[match.end() :]}"
    return ""


def _reverse(sentence: str, rng: random.Random) -> str:
    """The sentence with a word replaced by its antonym."""
    matches = [match for match in _WORD.finditer(sentence) if match[0].lower() in _ANTONYMS]
    if not matches or _NEGATION.search(sentence):
        return ""
    match = rng.choice(matches)
    other = rng.choice(_ANTONYMS[match[0].lower()])
    return f"{sentence[: match.start()]}{_match_case(other, match[0])}{sentence[match.end() :]}"


def _recount(sentence: str, rng: random.Random) -> str:
    """The sentence with another number."""
    matches = list(_NUMBER.finditer(sentence))
    if not matches:
        return ""
    match = rng.choice(matches)
    word = match[0].lower()
    if word in _NUMBER_WORDS:
        other = rng.choice([number for number in _NUMBER_WORDS if number != word])
        return f"{sentence[: match.start()]}{_match_case(other, match[0])}{sentence[match.end() :]}"
    value = int(word)
    other = str(max(1, value + rng.choice([-3, -2, -1, 1, 2, 3, 5, 10, value, 2 * value])))
    return f"{sentence[: match.start()]}{other}{sentence[match.end() :]}" if other != word else ""


def _pair_answers(dialogues: Sequence[Turns], rng: random.Random) -> Iterator[LabelledPair]:
    """Pairs of answers that different people gave to one question, as if they were of one speaker.

    A yes contradicts a no; so do answers without a common word to a question that has only one answer.
    """
    for question, answers in _collect_answers(dialogues).items():
        rng.shuffle(answers)
        for first, second in pairwise(answers[:_EACH]):
            sides = {_side(first), _side(second)}
            if sides == {"yes", "no"} or (_ONE_ANSWER.search(question) and not _are_alike(first, second)):
                yield LabelledPair(first, second, CONTRADICTION)
            elif len(sides) == 1 and sides != {""}:
                yield LabelledPair(first, second, NEUTRAL)


def _collect_answers(dialogues: Sequence[Turns]) -> dict[str, list[str]]:
    """The different answers to each question, by the question's words."""
    answers: dict[str, dict[str, None]] = defaultdict(dict)
    for turns in dialogues:
        for turn, answer in pairwise(turns):
            question, reply = _split_sentences(turn)[-1:], _split_sentences(answer)[:1]
            if not question or not reply or len(answer) >= _LONGEST:
                continue
            if question[0].endswith("?") and not reply[0].endswith("?"):
                answers[" ".join(_WORD.findall(question[0].lower()))][answer] = None
    return {question: list(replies) for question, replies in answers.items() if len(replies) > 1}


def _are_alike(first: str, second: str) -> bool:
    """Whether two answers share a content word, or one of them has none."""
    words = [
        {word for word in _WORD.findall(text.lower()) if len(word) > 3 and word not in _EMPTY}
        for text in (first, second)
    ]
    return not all(words) or bool(words[0] & words[1])


def _side(answer: str) -> str:
    if _YES.match(answer):
        return "yes"
    return "no" if _NO.match(answer) else ""


def _swap_facts(dialogues: Sequence[Turns], rng: random.Random) -> Iterator[LabelledPair]:
    """Pairs in which a fact of a speaker (home, age, favourite dish) is replaced by somebody else's."""
    facts: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for turns in dialogues:
        for turn in turns:
            for sentence in _split_sentences(turn):
                for pattern in _FACTS:
                    if (match := pattern.match(sentence)) and len(turn) < _LONGEST:
                        facts[pattern.pattern].append((turn, sentence, match["fact"]))
    for similar in facts.values():
        for turn, sentence, fact in similar:
            _, _, other = rng.choice(similar)
            if fact.lower() in other.lower() or other.lower() in fact.lower():
                yield LabelledPair(turn, sentence, ENTAILMENT)
                continue
            yield LabelledPair(turn, sentence.replace(fact, other), CONTRADICTION)
            another = rng.choice(similar)[1]
            if another.startswith("I "):
                yield LabelledPair(turn, another.replace("I ", "My friend ", 1), NEUTRAL)


def _split_sentences(turn: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+", turn)
    return [part for part in parts if 2 < len(part.split()) <= 30]


def _restyle(pair: LabelledPair, rng: random.Random) -> LabelledPair:
    """The pair in the style of another corpus: lower case, or spaces before punctuation."""
    style = rng.choice(_STYLES)
    return LabelledPair(style(pair.premise), style(pair.hypothesis), pair.label)


def _match_case(word: str, like: str) -> str:
    return word.capitalize() if like[:1].isupper() else word


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STYLES: tuple[Callable[[str], str], ...] = (str, str, str.lower, add_spaces)


_LONGEST = 240
"""The maximum number of characters of an utterance; labels of longer ones are often wrong."""
_EACH = 40
"""The maximum number of answers to one question; some questions are in every second dialogue."""
_ONE_ANSWER = re.compile(
    r"^(?:(?:so|and|well|oh|ok|then) )?(?:where|when|who|how (?:old|much|many|long|far|often|big|tall)|which|"
    r"what(?:'s| is| was| are| were)? (?:your|the|his|her|its|their|time|day|kind|color|size|do you do|year|"
    r"major|are you (?:studying|majoring)))",
)
"""Questions to which a speaker has only one answer."""
_EMPTY = _word_set(
    "this that what have with your yeah well just about they them there know think would could really some "
    "very here from were been then than when which will don't it's i'm that's like want much many more also "
    "okay sure haha good nice cool"
)
"""Words that are frequent in all answers."""

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


def _read_antonyms(groups: str) -> dict[str, list[str]]:
    """The antonyms of each word; the first word of a group is the opposite of the others."""
    antonyms: dict[str, list[str]] = defaultdict(list)
    for group in groups.split():
        first, *others = group.split("/")
        antonyms[first] += others
        for other in others:
            antonyms[other].append(first)
    return dict(antonyms)


_ANTONYMS = _read_antonyms(_OPPOSITES)
