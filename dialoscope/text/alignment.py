"""Which words of a text stand for which words of another: the two ways in which METEOR has been written."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)


class Match(NamedTuple):
    """Words of a reply that stand for words of a reference."""

    reply: int
    """Where they begin in the reply."""
    reply_length: int
    reference: int
    reference_length: int
    kind: int
    """How they were found: EXACT, STEM, SYNONYM or PARAPHRASE."""


def chunks(matches: Iterable[Match]) -> int:
    """How many runs the matches make, in the order of the reference, that are runs in both texts."""
    runs, reply_end, reference_end = 0, -1, -1
    for match in matches:
        runs += match.reply != reply_end or match.reference != reference_end
        reply_end, reference_end = match.reply + match.reply_length, match.reference + match.reference_length
    return runs


def greedy_alignment(
    reply: Sequence[str],
    reference: Sequence[str],
    stems: Mapping[str, str],
    synonyms: Mapping[str, Collection[str]],
) -> list[Match]:
    """As NLTK: the last word first, with the last word it can have; equal words, then stems, then synonyms.

    As there, the synonyms are those of stems, and must be stems: "am" and "being" match, "glad" and "happy"
    do not, because of the stem "happi".
    """
    matches: list[Match] = []
    places = _places(reference, range(len(reference)))
    left = _matched_backwards(range(len(reply) - 1, -1, -1), reply, places, EXACT, matches)
    right = sorted([place for found in places.values() for place in found])
    if left and right:
        reply, reference = [stems[word] for word in reply], [stems[word] for word in reference]
        places = _places(reference, right)
        left = _matched_backwards(left, reply, places, STEM, matches)
        _match_synonyms(
            [place for place in left if reply[place] in synonyms], reply, places, synonyms, matches
        )
    return sorted(matches, key=itemgetter(2))


def _matched_backwards(
    left: Iterable[int], reply: Sequence[str], places: dict[str, list[int]], kind: int, matches: list[Match]
) -> list[int]:
    """Match what can be, with the last place of the same word; what is left over."""
    rest = []
    for place in left:
        found = places.get(reply[place])
        if found:
            matches.append(Match(place, 1, found.pop(), 1, kind))
        else:
            rest.append(place)
    return rest


def _match_synonyms(
    left: list[int],
    reply: Sequence[str],
    places: dict[str, list[int]],
    synonyms: Mapping[str, Collection[str]],
    matches: list[Match],
) -> None:
    for place in left:
        found = [places[other] for other in synonyms[reply[place]] if places.get(other)]
        if found:
            last = max(found, key=itemgetter(-1))
            matches.append(Match(place, 1, last.pop(), 1, SYNONYM))


def _places(words: Sequence[str], among: Iterable[int]) -> dict[str, list[int]]:
    """Where each word stands, in order."""
    places: dict[str, list[int]] = {}
    for place in among:
        word = words[place]
        if word in places:
            places[word].append(place)
        else:
            places[word] = [place]
    return places


# How good an alignment is, in one number because it is compared so often, the lowest first: more words
# matched, then fewer chunks, then less distance.
_CHUNK = 1 << 40
_WORD = 1 << 70


_NO_LIMIT = 1 << 200
_ENOUGH = 4
"""Times the beam: alignments from which on further ones are compared with the worst that the beam keeps."""


# An alignment of the words so far, a plain tuple because there are so many of them: how good it is; where in
# the reply the run that is still open would go on, -1 without one; the first word of the reference that is
# not yet decided; the words of the reply that are taken, as bits; the last match with those before it.
_Path = tuple[int, int, int, int, Any]


class _Option(NamedTuple):
    """A match that an alignment may take up."""

    match: Match
    words: int
    """The words of the reply that it takes, as bits."""
    distance: int
    gain: int
    repeats: bool
    """Whether an earlier one has the very same words, which then always wins."""


MOST_STEPS = 20_000_000
"""Pairs of words that may match, times the beam, beyond which there is no search for an alignment."""
FEW_WORDS = 4000
"""Words of the reply up to which a step costs the same; it costs twice as much for twice as many."""


def beam_alignment(candidates: Mapping[int, Sequence[Match]], length: int, beam: int) -> list[Match] | None:
    """As METEOR 1.5: the best of the alignments with a reference of this length that a beam search keeps.

    The candidates are those of each place in the reference. As there, a single word that is not matched
    exactly counts nothing towards the matched words of an alignment (half a word is rounded down), and the
    distance of a match counts not for itself but for the alternatives that come after it.

    Nothing comes back where the search would take too many steps.
    """
    certain = _certain(candidates)
    if len(certain) == len(candidates):
        return [certain[place] for place in sorted(certain)]
    competing = [match for place, found in candidates.items() if place not in certain for match in found]
    words = sorted({match.reply + i for match in competing for i in range(match.reply_length)})
    if len(competing) * beam * max(FEW_WORDS, len(words)) > MOST_STEPS * FEW_WORDS:
        return None
    bit = {word: number for number, word in enumerate(words)}
    few = _at_most(beam, candidates)
    paths: list[_Path] = [(0, -1, 0, 0, None)]
    for place in range(length):
        paths = _best(paths, beam)
        if place in certain:
            paths = [_taken(path, certain[place]) for path in paths]
        else:
            paths = _further(paths, place, _options(candidates.get(place, ()), few, bit), beam)
    return _matches_of(_best([_skipped(path) for path in _best(paths, beam)], 1)[0])


def _certain(candidates: Mapping[int, Sequence[Match]]) -> dict[int, Match]:
    """The matches that compete with no other."""
    of_reply, of_reference = Counter[int](), Counter[int]()
    for found in candidates.values():
        for match in found:
            of_reply.update(range(match.reply, match.reply + match.reply_length))
            of_reference.update(range(match.reference, match.reference + match.reference_length))
    return {
        place: match
        for place, (match, *others) in candidates.items()
        if not others
        and all(of_reply[match.reply + i] == 1 for i in range(match.reply_length))
        and all(of_reference[place + i] == 1 for i in range(match.reference_length))
    }


def _at_most(beam: int, candidates: Mapping[int, Sequence[Match]]) -> bool:
    """Whether the beam is wide enough for all alignments there are, so that none need be kept in vain."""
    paths = 1
    for found in candidates.values():
        paths *= len(found) + 1
        if paths > beam:
            return False
    return True


def _options(found: Sequence[Match], few: bool, bit: Mapping[int, int]) -> list[_Option]:
    seen: set[tuple[int, ...]] = set()
    options = []
    for match in found:
        repeats = few and match[:4] in seen
        seen.add(match[:4])
        words = ((1 << match.reply_length) - 1) << bit[match.reply]
        options.append(_Option(match, words, abs(match.reference - match.reply), _gain(match), repeats))
    return options


def _gain(match: Match) -> int:
    if match.kind == EXACT:
        return 2 * _WORD
    return (match.reply_length // 2 + match.reference_length // 2) * _WORD


def _best(paths: list[_Path], beam: int) -> list[_Path]:
    """The first of equals stays first."""
    return sorted(paths, key=itemgetter(0))[:beam] if len(paths) > 1 else paths


def _further(paths: list[_Path], place: int, options: Sequence[_Option], beam: int) -> list[_Path]:
    """Each alignment with each of the options that it can take up, and with none.

    Where a word occurs often, nearly all of these rank behind as many earlier ones as the beam keeps: such
    alignments are not made once there are enough to compare with.
    """
    further: list[_Path] = []
    limit = _NO_LIMIT
    for path in paths:
        if len(further) > _ENOUGH * beam:
            further = _best(further, beam)
            limit = further[-1][0]
        rank, reply_end, free, used, matches = path
        if place < free:
            further.append(path)
            continue
        for match, words, distance, gain, repeats in options:
            if used & words:
                continue
            if not repeats:
                start, length, _, reference_length, _ = match
                new = rank - gain + _CHUNK if reply_end not in (-1, start) else rank - gain
                if new < limit:
                    end, free = start + length, place + reference_length
                    further.append((new, end, free, used | words, (match, matches)))
            rank += distance
        further.append((rank if reply_end == -1 else rank + _CHUNK, -1, place + 1, used, matches))
    return further


def _skipped(path: _Path) -> _Path:
    """The alignment with its run at an end."""
    rank, reply_end, *rest = path
    return path if reply_end == -1 else (rank + _CHUNK, -1, *rest)


def _taken(path: _Path, match: Match) -> _Path:
    """The alignment with a match that is certain; its distance counts for itself."""
    rank, reply_end, _, used, matches = path
    chunk = _CHUNK if reply_end not in (-1, match.reply) else 0
    rank += chunk - _gain(match) + abs(match.reference - match.reply)
    free = match.reference + match.reference_length
    return rank, match.reply + match.reply_length, free, used, (match, matches)


def _matches_of(path: _Path) -> list[Match]:
    matches = []
    *_, last = path
    while last is not None:
        match, last = last
        matches.append(match)
    return matches[::-1]
