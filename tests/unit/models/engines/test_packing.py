"""Packing: every token is scored once, given all before it, and what is shared is laid out once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialoscope.models.engines.packing import WORTH_SHARING, Pack, Piece, cut, make_packs

TOKENS = st.integers(0, 2)  # few, so that prefixes often are equal or continue one another
SCORED = st.lists(TOKENS, min_size=1, max_size=6).map(tuple)


@st.composite
def many_pieces(draw):
    """Prefixes that continue one another, such as the turns of a dialogue, and others."""
    prefixes = [tuple(draw(st.lists(TOKENS, min_size=1, max_size=12)))]
    for _ in range(draw(st.integers(0, 6))):
        above = draw(st.sampled_from([(), *prefixes]))
        prefixes.append((*above, *draw(st.lists(TOKENS, min_size=1, max_size=12))))
    return draw(st.lists(st.builds(Piece, st.sampled_from(prefixes), SCORED), max_size=14))


def seen_by(pack: Pack, place: int) -> np.ndarray:
    """The tokens that a token sees, itself included."""
    return np.array([other for other in range(place + 1) if place < pack.ends[other]])


def scored(pack: Pack):
    """Each piece of a pack with the tokens its targets are told by, read back from the layout."""
    ends = np.cumsum(pack.lengths)
    for piece, end, length in zip(pack.pieces, ends, pack.lengths, strict=True):
        sources, targets = pack.sources[end - length : end], pack.targets[end - length : end]
        lines = [tuple(pack.ids[seen_by(pack, source)].tolist()) for source in sources]
        yield piece, lines, tuple(targets.tolist())


@settings(deadline=None, max_examples=100)
@given(many_pieces(), st.integers(1, 120))
def test_every_token_is_scored_once_given_all_before_it(pieces, budget):
    found = {}
    for pack in make_packs(pieces, budget):
        for place, lines, targets in scored(pack):
            assert place not in found
            found[place] = targets
            assert targets == pieces[place].tokens
            whole = (*pieces[place].before, *targets)
            assert lines == [whole[: len(pieces[place].before) + done] for done in range(len(targets))]
    assert sorted(found) == list(range(len(pieces)))


@settings(deadline=None, max_examples=100)
@given(many_pieces(), st.integers(1, 120))
def test_a_token_stands_where_it_would_alone(pieces, budget):
    for pack in make_packs(pieces, budget):
        assert pack.positions.tolist() == [len(seen_by(pack, place)) - 1 for place in range(len(pack))]


@settings(deadline=None, max_examples=100)
@given(many_pieces(), st.integers(1, 120))
def test_nodes_and_trees_are_the_whole_pack(pieces, budget):
    for pack in make_packs(pieces, budget):
        for spans in (pack.nodes, pack.trees):
            assert [span.begin for span in spans] == [0, *(span.end for span in spans[:-1])]
            assert spans[-1].end == len(pack) == len(pack.ids)
            assert all(span.begin < span.end for span in spans)
        for node in pack.nodes:
            assert pack.line(node).tolist() == seen_by(pack, node.end - 1).tolist()
        for tree in pack.trees:
            assert all(tree.begin <= seen_by(pack, place)[0] for place in range(*tree))
            assert (pack.ends[slice(*tree)] <= tree.end).all()


@settings(deadline=None, max_examples=100)
@given(many_pieces(), st.integers(1, 120))
def test_a_pack_keeps_to_the_budget_unless_one_piece_alone_is_larger(pieces, budget):
    for pack in make_packs(pieces, budget):
        assert len(pack) <= budget or len(pack.pieces) == 1


@settings(deadline=None, max_examples=100)
@given(many_pieces())
def test_what_is_shared_is_laid_out_once(pieces):
    """Without a bound: the tokens of the tree of all prefixes, and those of the pieces but the last."""
    prefixes = {piece.before for piece in pieces}

    def known(prefix):
        above = [other for other in prefixes - {prefix} if prefix[: len(other)] == other]
        return max((len(other) for other in above if len(other) >= WORTH_SHARING), default=0)

    least = sum(len(prefix) - known(prefix) for prefix in prefixes)
    assert sum(map(len, make_packs(pieces, 10**6))) == least + sum(len(piece.tokens) - 1 for piece in pieces)


@settings(deadline=None, max_examples=50)
@given(many_pieces(), st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_order_of_pieces_does_not_show(pieces, budget, chance):
    """Nor does a tree that must be cut carry what nothing hangs below."""
    for pack in make_packs(pieces, budget):
        told = set(pack.sources.tolist())
        for node in pack.nodes:
            assert any(place in told for place in range(len(pack)) if node.end - 1 in seen_by(pack, place))
    mixed = chance.sample(range(len(pieces)), len(pieces))
    found = sorted(
        mixed[place]
        for pack in make_packs([pieces[place] for place in mixed], budget)
        for place in pack.pieces
    )
    assert found == list(range(len(pieces)))


def test_replies_to_one_context_and_the_turns_of_one_dialogue_share_it():
    context = tuple(range(20))
    longer = (*context, *range(50, 60))
    pieces = [Piece(context, (1, 2, 3)), Piece(context, (4, 5)), Piece(longer, (6, 7))]
    (pack,) = make_packs(pieces, 1000)
    assert len(pack) == 20 + 10 + 2 + 1 + 1
    assert len(pack.trees) == 1


def test_unrelated_texts_with_a_short_beginning_in_common_are_apart():
    (pack,) = make_packs([Piece((0, 1), (2,)), Piece((0, 1, 2), (3,))], 1000)
    assert len(pack.trees) == 2


def test_nothing_is_no_pack():
    assert list(make_packs([], 100)) == []


LINE = st.integers(0, 80).map(lambda length: tuple(range(100, 100 + length)))
TEXT = st.one_of(st.just(()), LINE)


@settings(deadline=None, max_examples=200)
@given(LINE, TEXT, st.sampled_from([(), (0,)]), st.integers(16, 40))
def test_every_token_of_a_text_is_scored_once_within_the_window(prefix, text, start, window):
    pieces = cut(prefix, text, start, window)
    unscored = 0 if start or prefix else 1
    assert tuple(token for piece in pieces for token in piece.tokens) == text[unscored:]
    whole = (*start, *prefix, *text)
    place = len(whole) - len(text) + min(unscored, len(text))
    for number, piece in enumerate(pieces):
        assert piece.before
        assert piece.tokens
        assert len(piece.before) + len(piece.tokens) <= window
        kept = piece.before[len(start) :] if number == 0 else piece.before
        assert piece.before[: len(start)] == start or number > 0
        assert kept == whole[place - len(kept) : place], "the tokens just before are those that are kept"
        place += len(piece.tokens)


@given(LINE, TEXT, st.sampled_from([(), (0,)]), st.integers(16, 40))
def test_nothing_is_dropped_that_fits(prefix, text, start, window):
    pieces = cut(prefix, text, start, window)
    if len(start) + len(prefix) + len(text) <= window and text and (start or prefix):
        assert pieces == [Piece((*start, *prefix), text)]
    elif len(pieces) == 1 and (start or prefix):
        assert len(pieces[0].before) + len(text) == window


@pytest.mark.parametrize("start", [(), (0,)])
def test_a_text_longer_than_the_window_sees_half_a_window_before_it(start):
    text = tuple(range(100, 200))
    pieces = cut((1, 2, 3), text, start, 20)
    assert all(len(piece.before) >= 10 for piece in pieces[1:])


def test_an_empty_text_has_nothing_to_score():
    assert cut((1, 2), (), (0,), 16) == []
    assert cut(range(40), (), (0,), 16) == []
    assert cut((), (), (), 16) == []
    assert cut((), (7,), (), 16) == []
