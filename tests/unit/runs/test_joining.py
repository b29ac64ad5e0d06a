"""Ratings and scores from files, at the replies of a run."""

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import ReplyIndex
from dialoscope.runs.score_columns import Scores


def index(*replies):
    systems = tuple(dict.fromkeys(system for _, system in replies))
    return ReplyIndex(
        tuple(name for name, _ in replies),
        systems,
        np.array([systems.index(system) for _, system in replies]),
        np.arange(len(replies)),
    )


REPLIES = index(("a", "bot"), ("b", "bot"), ("a", "man"), ("c", "man"))


def rating(name, system="", value=1.0, aspect="fluency"):
    return ds.Rating(name, system, aspect, "ann", value)


def test_ratings_stand_at_their_replies_whatever_their_order():
    records = [rating("c", "", 3.0), rating("a", "man", 2.0), rating("a", "bot", None)]
    found = Ratings.of(REPLIES, records)
    assert found.reply.tolist() == [3, 2, 0]
    np.testing.assert_array_equal(found.means("fluency", 4), [np.nan, np.nan, 2.0, 3.0])
    backwards = Ratings.of(REPLIES, records[::-1])
    np.testing.assert_array_equal(backwards.means("fluency", 4), found.means("fluency", 4))
    assert found.notes == ()
    assert Ratings.of(REPLIES, found) is found


def test_an_id_of_several_systems_needs_the_system():
    with pytest.raises(ds.DataError, match=r"reply 'a' does not say whose: 2 systems .*\(bot, man\)"):
        Ratings.of(REPLIES, [rating("a")])


def test_what_belongs_nowhere_is_counted_and_named():
    lost = [rating(f"x{place}", "", 1.0) for place in range(5)]
    found = Ratings.of(REPLIES, [rating("b"), *lost])
    assert len(found) == 1
    assert found.notes == (
        "5 of 6 ratings are of no reply in the run and were left out: 'x0', 'x1', 'x2', ….",
    )


def test_nothing_in_common_is_an_error_that_shows_both():
    with pytest.raises(
        ds.DataError, match=r"None of the 1 ratings .*'b' by system 'dog'.* 'a' by system 'bot'"
    ):
        Ratings.of(REPLIES, [rating("b", "dog")])
    with pytest.raises(ds.DataError, match="not one rating"):
        Ratings.of(REPLIES, [])


def test_names_from_files_are_made_safe():
    with pytest.raises(ds.DataError) as told:
        Ratings.of(REPLIES, [rating("\x1b[2J")])
    assert "\x1b" not in str(told.value)


def test_scores_are_columns_with_nothing_where_there_is_none():
    records = [ds.Score("b", "", "m", 1.0), ds.Score("c", "man", "n", 2.0), ds.Score("c", "", "m", None)]
    found = Scores.of(REPLIES, records)
    assert found.metrics == ("m", "n")
    nothing = np.nan
    np.testing.assert_array_equal(
        found.values, [[nothing, nothing], [1.0, nothing], [nothing, nothing], [nothing, 2.0]]
    )


def test_aspects_are_found_by_name():
    found = Ratings.of(REPLIES, [rating("b", aspect="Fluency"), rating("c", aspect="sense")])
    assert found.aspects == ("Fluency", "sense")
    assert found.named("fluency") == "Fluency"
    with pytest.raises(
        ds.DialoscopeError, match=r"Nobody rated 'sens' \(did you mean 'sense'\?\); .*Fluency"
    ):
        found.named("sens")
    with pytest.raises(ds.DialoscopeError, match="There are no ratings"):
        Ratings(np.empty(0, np.int64), (), (), np.empty(0)).named("x")
