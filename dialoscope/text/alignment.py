"""The alignment of the words of two texts, as in the two implementations of METEOR."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)


class Match(NamedTuple):
    """Words of a reply that are aligned with words of a reference."""

    reply: int
    """Position of the first of the words in the reply."""
    reply_length: int
    reference: int
    reference_length: int
    kind: int
    """The stage that matched them: EXACT, STEM, SYNONYM or PARAPHRASE."""


def count_chunks(matches: Iterable[Match]) -> int:
    """Return the number of runs that are adjacent in both texts, of matches in the order of the reference."""
    chunks, reply_end, reference_end = 0, -1, -1
    for match in matches:
        chunks += match.reply != reply_end or match.reference != reference_end
        reply_end, reference_end = match.reply + match.reply_length, match.reference + match.reference_length
    return chunks


def align_greedily(
    reply: Sequence[str],
    reference: Sequence[str],
    stems: Mapping[str, str],
    synonyms: Mapping[str, Collection[str]],
) -> list[Match]:
    """Align words as NLTK does, from the last word backwards: equal words, then stems, then synonyms.

    As in NLTK, synonyms are looked up by stems, and must be stems: "am" and "being" match, "glad" and "happy"
    do not, because of the stem "happi".
    """
    matches: list[Match] = []
    positions = _index_words(reference, range(len(reference)))
    rest = _match_equal(range(len(reply) - 1, -1, -1), reply, positions, EXACT, matches)
    reference_rest = sorted(chain.from_iterable(positions.values()))
    if rest and reference_rest:
        reply, reference = [stems[word] for word in reply], [stems[word] for word in reference]
        positions = _index_words(reference, reference_rest)
        rest = _match_equal(rest, reply, positions, STEM, matches)
        with_synonyms = [index for index in rest if reply[index] in synonyms]
        _match_synonyms(with_synonyms, reply, positions, synonyms, matches)
    return sorted(matches, key=itemgetter(2))


def _match_equal(
    indices: Iterable[int],
    reply: Sequence[str],
    positions: dict[str, list[int]],
    kind: int,
    matches: list[Match],
) -> list[int]:
    """Match each word with the last position of the same word, and return the words without a match."""
    rest = []
    for index in indices:
        candidates = positions.get(reply[index])
        if candidates:
            matches.append(Match(index, 1, candidates.pop(), 1, kind))
        else:
            rest.append(index)
    return rest


def _match_synonyms(
    indices: list[int],
    reply: Sequence[str],
    positions: dict[str, list[int]],
    synonyms: Mapping[str, Collection[str]],
    matches: list[Match],
) -> None:
    for index in indices:
        candidates = [positions[other] for other in synonyms[reply[index]] if positions.get(other)]
        if candidates:
            last = max(candidates, key=itemgetter(-1))
            matches.append(Match(index, 1, last.pop(), 1, SYNONYM))


def _index_words(words: Sequence[str], indices: Iterable[int]) -> dict[str, list[int]]:
    """Return the positions of each word, in order."""
    positions: dict[str, list[int]] = {}
    for index in indices:
        word = words[index]
        if word in positions:
            positions[word].append(index)
        else:
            positions[word] = [index]
    return positions


# The cost of an alignment is one integer, since it is compared very often; the lowest is the best: more words
# matched, then fewer chunks, then less distance.
_CHUNK = 1 << 40
_WORD = 1 << 70


_NO_LIMIT = 1 << 200
_ENOUGH = 4
"""Number of alignments, in beams, above which new ones are compared with the worst that the beam retains."""


# An alignment of the words so far, a plain tuple because there are so many of them: its cost; the position in
# the reply at which the open run would continue, -1 without one; the first undecided word of the reference;
# the aligned words of the reply, as bits; the last match with those before it.
_Path = tuple[int, int, int, int, Any]


class _Option(NamedTuple):
    """A match that can be added to an alignment."""

    match: Match
    words: int
    """The words of the reply that it aligns, as bits."""
    distance: int
    gain: int
    repeats: bool
    """Whether an earlier option, which then always wins, has the same words."""


MOST_STEPS = 20_000_000
"""Maximum number of pairs of words that may match, times the beam, for which an alignment is searched."""
FEW_WORDS = 4000
"""Number of words of the reply up to which a step has the same cost; then the cost is proportional."""


def align_with_beam(candidates: Mapping[int, Sequence[Match]], length: int, beam: int) -> list[Match] | None:
    """Return the best alignment of a beam search, as METEOR 1.5, with a reference of this length.

    The candidates are those of each position in the reference. As in METEOR 1.5, a single word that is not
    matched exactly adds nothing to the matched words of an alignment (half a word is rounded down), and the
    distance of a match is added not to its own cost but to that of the alternatives after it.

    The result is None if the search would take too many steps.
    """
    certain = _find_certain(candidates)
    if len(certain) == len(candidates):
        return [certain[position] for position in sorted(certain)]
    competing = [
        match for position, matches in candidates.items() if position not in certain for match in matches
    ]
    words = sorted({match.reply + i for match in competing for i in range(match.reply_length)})
    if len(competing) * beam * max(FEW_WORDS, len(words)) > MOST_STEPS * FEW_WORDS:
        return None
    bit = {word: number for number, word in enumerate(words)}
    fits_beam = _fits_beam(beam, candidates)
    paths: list[_Path] = [(0, -1, 0, 0, None)]
    for position in range(length):
        paths = _select_best(paths, beam)
        if position in certain:
            paths = [_add_certain(path, certain[position]) for path in paths]
        else:
            options = _make_options(candidates.get(position, ()), fits_beam, bit)
            paths = _extend(paths, position, options, beam)
    return _matches_of(_select_best([_close_run(path) for path in _select_best(paths, beam)], 1)[0])


def _find_certain(candidates: Mapping[int, Sequence[Match]]) -> dict[int, Match]:
    """Return the matches that share no word with another, by position in the reference."""
    of_reply, of_reference = Counter[int](), Counter[int]()
    for matches in candidates.values():
        for match in matches:
            of_reply.update(range(match.reply, match.reply + match.reply_length))
            of_reference.update(range(match.reference, match.reference + match.reference_length))
    return {
        position: match
        for position, (match, *others) in candidates.items()
        if not others
        and all(of_reply[match.reply + i] == 1 for i in range(match.reply_length))
        and all(of_reference[position + i] == 1 for i in range(match.reference_length))
    }


def _fits_beam(beam: int, candidates: Mapping[int, Sequence[Match]]) -> bool:
    """Whether the beam is wide enough for all possible alignments."""
    paths = 1
    for matches in candidates.values():
        paths *= len(matches) + 1
        if paths > beam:
            return False
    return True


def _make_options(matches: Sequence[Match], fits_beam: bool, bit: Mapping[int, int]) -> list[_Option]:
    seen: set[tuple[int, ...]] = set()
    options = []
    for match in matches:
        repeats = fits_beam and match[:4] in seen
        seen.add(match[:4])
        words = ((1 << match.reply_length) - 1) << bit[match.reply]
        options.append(_Option(match, words, abs(match.reference - match.reply), _gain(match), repeats))
    return options


def _gain(match: Match) -> int:
    if match.kind == EXACT:
        return 2 * _WORD
    return (match.reply_length // 2 + match.reference_length // 2) * _WORD


def _select_best(paths: list[_Path], beam: int) -> list[_Path]:
    """Return the best paths; equal ones remain in order."""
    return sorted(paths, key=itemgetter(0))[:beam] if len(paths) > 1 else paths


def _extend(paths: list[_Path], position: int, options: Sequence[_Option], beam: int) -> list[_Path]:
    """Return each alignment with each of the options that can be added to it, and with none.

    Where a word is frequent, nearly all of these are worse than as many earlier ones as the beam retains:
    such alignments are not made once there are enough to compare with.
    """
    extended: list[_Path] = []
    limit = _NO_LIMIT
    for path in paths:
        if len(extended) > _ENOUGH * beam:
            extended = _select_best(extended, beam)
            limit = extended[-1][0]
        cost, reply_end, free, used, matches = path
        if position < free:
            extended.append(path)
            continue
        for match, words, distance, gain, repeats in options:
            if used & words:
                continue
            if not repeats:
                start, length, _, reference_length, _ = match
                new = cost - gain + _CHUNK if reply_end not in (-1, start) else cost - gain
                if new < limit:
                    end, free = start + length, position + reference_length
                    extended.append((new, end, free, used | words, (match, matches)))
            cost += distance
        extended.append((cost if reply_end == -1 else cost + _CHUNK, -1, position + 1, used, matches))
    return extended


def _close_run(path: _Path) -> _Path:
    """Return the alignment with its open run closed."""
    cost, reply_end, *rest = path
    return path if reply_end == -1 else (cost + _CHUNK, -1, *rest)


def _add_certain(path: _Path, match: Match) -> _Path:
    """Return the alignment with a match that is certain; its distance is added to its own cost."""
    cost, reply_end, _, used, matches = path
    chunk = _CHUNK if reply_end not in (-1, match.reply) else 0
    cost += chunk - _gain(match) + abs(match.reference - match.reply)
    free = match.reference + match.reference_length
    return cost, match.reply + match.reply_length, free, used, (match, matches)


def _matches_of(path: _Path) -> list[Match]:
    matches = []
    *_, last = path
    while last is not None:
        match, last = last
        matches.append(match)
    return matches[::-1]
