"""METEOR in small pieces: words, stems, alignments, paraphrases, and what is refused."""

import gzip
import math
from collections import Counter
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

import dialoscope as ds
from dialoscope.core.errors import BackendError, MetricError
from dialoscope.metrics import meteor
from dialoscope.models.fakes import FakeLexicon
from dialoscope.models.paraphrases import Paraphrases
from dialoscope.text import alignment
from dialoscope.text.alignment import (
    EXACT,
    PARAPHRASE,
    STEM,
    SYNONYM,
    Match,
    align_greedily,
    align_with_beam,
    count_chunks,
)
from dialoscope.text.batch import Batch
from dialoscope.text.meteor_words import FUNCTION_WORDS, meteor_words
from dialoscope.text.porter import porter_stem
from dialoscope.text.stemmer import stem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Hello, World!", "hello , world !"),
        ("I don't know... the '90s", "i don 't know ... the ' 90s"),
        ("the 1990's", "the 1990 's"),
        ("Mr. Smith of the U.S. is here.", "mr. smith of the us is here ."),
        ("etc. and so on.", "etc. and so on ."),
        ("No. 5, but No.", "no. 5 , but no ."),
        ("1,000.50 (up-to-date)", "1,000.50 ( up to date )"),
        ("“Quoted” ‘text’ — x–y", "\" quoted \" ' text ' — x - y"),
        ("tab\tand\nline\rends\u00a0here", "tab and line ends here"),
    ],
)
def test_words_are_cut_as_meteor_cuts_them(text, words):
    assert meteor_words([text, "another text."]) == [
        words.split(" ") if words else [],
        ["another", "text", "."],
    ]


def test_there_may_be_no_texts():
    assert meteor_words([]) == []


def test_function_words_are_words_that_can_come_out_of_a_text():
    assert len(FUNCTION_WORDS) == 93
    assert all(word == word.lower() for word in FUNCTION_WORDS)


@pytest.mark.parametrize(
    ("stemmed", "words"),
    [
        ("realiz", "realize realization realizes realized realizing realizations"),
        ("goe", "goes"),
        ("he", "he he's he'"),
        ("generat", "generate generation generative"),
        ("communism", "communism communisms"),
        ("hope", "hope hoped hoping hopeful hopefulness"),
        ("hop", "hop hopped hopping hops"),
        ("dy", "dy"),
        ("die", "die dies dying"),
        ("sky", "sky skies"),
        ("proceed", "proceed proceeds"),
        ("feed", "feed feeds"),
        ("agre", "agreed agree agreedly"),
        ("bed", "bed beds"),
        ("gas", "gas"),
        ("gap", "gaps gap"),
        ("happi", "happy happiness"),
        ("enjoy", "enjoy enjoyed enjoyment"),
        ("yell", "yell yells yelling"),
        ("control", "control controlled controlling"),
        ("format", "formative formation"),
        ("analog", "analogi analogies analogy"),
        ("trade", "trade trades traded"),
        ("s", "s"),
        ("caress", "caress caresses"),
    ],
)
def test_stems_are_those_of_snowball(stemmed, words):
    assert {stem(word) for word in words.split(" ")} == {stemmed}


def test_porters_stems_are_those_of_nltk(wordnet):
    lines = (wordnet / "index.noun").read_text().splitlines() + (
        wordnet / "index.verb"
    ).read_text().splitlines()
    words = sorted({word for line in lines for word in line.split()[0].split("_")})[::5]
    words += [word + ending for word in words[::9] for ending in ("ed", "ing", "ies", "y", "alli", "ational")]
    words += ["dies", "died", "feed", "agreed", "sky", "skies", "ox", "", "biologi", "logi", "vocationally"]
    theirs = PorterStemmer()
    assert len(words) > 15000
    assert [porter_stem(word) for word in words] == [theirs.stem(word) for word in words]


def matched(*pairs: tuple[int, int, int]) -> list[Match]:
    return [Match(reply, 1, reference, 1, kind) for reply, reference, kind in pairs]


def test_the_greedy_alignment_takes_the_last_first():
    stems = {word: word.removesuffix("s") for word in ("a", "b", "bs", "c", "d")}
    found = align_greedily(["a", "b", "a"], ["a", "a", "a", "bs"], stems, {})
    assert found == matched((0, 1, EXACT), (2, 2, EXACT), (1, 3, STEM))
    assert align_greedily(["c", "c"], ["d", "a", "d"], stems, {"c": ["d", "b"]}) == matched(
        (0, 0, SYNONYM), (1, 2, SYNONYM)
    )
    assert align_greedily(["c", "c", "c"], ["d"], stems, {"c": ["d"]}) == matched((2, 0, SYNONYM))
    assert align_greedily([], ["a"], stems, {}) == []


def test_chunks_are_runs_in_both_texts():
    assert count_chunks([]) == 0
    assert count_chunks(matched((0, 0, EXACT), (1, 1, EXACT), (2, 3, EXACT))) == 2
    assert count_chunks(matched((1, 0, EXACT), (0, 1, EXACT))) == 2
    assert count_chunks([Match(0, 2, 0, 1, EXACT), Match(2, 1, 1, 3, EXACT)]) == 1


def test_matches_that_compete_with_none_need_no_search():
    candidates = {2: matched((0, 2, STEM)), 0: matched((1, 0, EXACT))}
    assert align_with_beam(candidates, 3, 1) == [candidates[0][0], candidates[2][0]]
    assert align_with_beam({}, 5, 40) == []


def test_the_beam_prefers_words_to_chunks_and_chunks_to_distance():
    repeated = {0: matched((0, 0, EXACT), (2, 0, EXACT)), 1: matched((3, 1, EXACT))}
    assert align_with_beam(repeated, 2, 40) == matched((2, 0, EXACT), (3, 1, EXACT))
    swapped = {0: matched((0, 0, EXACT), (1, 0, EXACT)), 1: matched((0, 1, EXACT), (1, 1, EXACT))}
    assert align_with_beam(swapped, 2, 40) == matched((0, 0, EXACT), (1, 1, EXACT))


def test_words_that_do_not_match_exactly_are_taken_only_where_they_make_no_chunk_more():
    """A quirk of METEOR 1.5: they count nothing in the search, unless nothing competes with them."""
    twice = {0: matched((0, 0, STEM), (0, 0, SYNONYM))}
    assert align_with_beam(twice, 1, 40) == []
    assert align_with_beam({0: matched((0, 0, STEM))}, 1, 40) == matched((0, 0, STEM))
    between = {
        0: matched((0, 0, EXACT)),
        1: matched((1, 1, STEM), (1, 1, SYNONYM)),
        2: matched((2, 2, EXACT)),
    }
    assert align_with_beam(between, 3, 40) == matched((0, 0, EXACT), (1, 1, STEM), (2, 2, EXACT))


def test_a_narrow_beam_may_miss_the_best():
    repeated = {0: matched((0, 0, EXACT), (2, 0, EXACT)), 1: matched((3, 1, EXACT))}
    assert align_with_beam(repeated, 2, 1) == matched((0, 0, EXACT), (3, 1, EXACT))
    assert align_with_beam(repeated, 2, 2) == matched((2, 0, EXACT), (3, 1, EXACT))


def plain_beam_alignment(candidates, length, beam):
    """The search as it is defined: every alignment with every option, of which the best are then kept."""
    chunk, word = 1 << 40, 1 << 70
    competing = [
        {
            (side, i)
            for side, start, count in ((0, m[0], m[1]), (1, m[2], m[3]))
            for i in range(start, start + count)
        }
        for found in candidates.values()
        for m in found
    ]
    taken = Counter(place for places in competing for place in places)
    certain = {
        place: found[0]
        for place, found in candidates.items()
        if len(found) == 1
        and all(taken[0, found[0].reply + i] == 1 for i in range(found[0].reply_length))
        and all(taken[1, place + i] == 1 for i in range(found[0].reference_length))
    }
    few = math.prod(len(found) + 1 for found in candidates.values()) <= beam
    paths = [(0, -1, 0, frozenset(), ())]
    for place in range(length):
        further = []
        for rank, end, free, used, matches in sorted(paths, key=itemgetter(0))[:beam]:
            if place in certain:
                m = certain[place]
                gain = 2 * word if m.kind == EXACT else (m.reply_length // 2 + m.reference_length // 2) * word
                cost = chunk * (end not in (-1, m.reply)) - gain + abs(m.reference - m.reply)
                further.append(
                    (rank + cost, m.reply + m.reply_length, place + m.reference_length, used, (*matches, m))
                )
                continue
            if place < free:
                further.append((rank, end, free, used, matches))
                continue
            seen = set()
            for m in candidates.get(place, ()):
                words = frozenset(range(m.reply, m.reply + m.reply_length))
                repeats = few and m[:4] in seen
                seen.add(m[:4])
                if used & words:
                    continue
                gain = 2 * word if m.kind == EXACT else (m.reply_length // 2 + m.reference_length // 2) * word
                if not repeats:
                    cost = chunk * (end not in (-1, m.reply)) - gain
                    further.append(
                        (
                            rank + cost,
                            m.reply + m.reply_length,
                            place + m.reference_length,
                            used | words,
                            (*matches, m),
                        )
                    )
                rank += abs(m.reference - m.reply)
            further.append((rank + chunk * (end != -1), -1, place + 1, used, matches))
        paths = further
    paths = sorted(paths, key=itemgetter(0))[:beam]
    return list(min(paths, key=lambda path: path[0] + chunk * (path[1] != -1))[4])


@given(rng=st.randoms())
@settings(max_examples=300, deadline=None)
def test_what_the_beam_would_drop_need_not_be_followed(rng):
    """Texts of few different words, of which nearly all alignments are dropped; and some phrases."""
    kinds, longest, beam = rng.choice([1, 2, 3, 8]), rng.choice([4, 10, 30]), rng.choice([1, 2, 5, 40])
    reply, reference = (rng.choices(range(kinds), k=rng.randint(1, longest)) for _ in range(2))
    alike = {
        (a, b): rng.choice([STEM, SYNONYM, None, None]) for a in range(kinds) for b in range(kinds) if a != b
    }
    candidates = {}
    for place, word in enumerate(reference):
        found = [Match(start, 1, place, 1, EXACT) for start, other in enumerate(reply) if other == word]
        found += [
            Match(start, 1, place, 1, kind)
            for kind in (STEM, SYNONYM)
            for start, other in enumerate(reply)
            if alike.get((other, word)) == kind
        ]
        for _ in range(rng.choice([0, 0, 0, 2])):
            length, other_length = (
                rng.randint(1, min(3, len(reply))),
                rng.randint(1, min(3, len(reference) - place)),
            )
            start = rng.randint(0, len(reply) - length)
            found.append(Match(start, length, place, other_length, PARAPHRASE))
        if found:
            candidates[place] = found
    expected = plain_beam_alignment(candidates, len(reference), beam)
    assert align_with_beam(candidates, len(reference), beam) == expected


def bound_pairs(monkeypatch, most):
    monkeypatch.setattr(meteor, "MOST_STEPS", most * 40)
    monkeypatch.setattr(alignment, "MOST_STEPS", most * 40)


def test_more_words_to_choose_among_leave_room_for_fewer_pairs(monkeypatch):
    """A word may match either of the two places where it stands in the reference."""
    candidates = {place: matched((place // 2, place, EXACT)) for place in range(8)}
    bound_pairs(monkeypatch, 8)
    monkeypatch.setattr(alignment, "FEW_WORDS", 4)
    assert align_with_beam(candidates, 8, 40) is not None
    monkeypatch.setattr(alignment, "FEW_WORDS", 3)
    assert align_with_beam(candidates, 8, 40) is None
    certain = {place: matched((place, place, EXACT)) for place in range(20)}
    assert align_with_beam(certain, 20, 40) is not None, "nothing is to be chosen"


def score(reply: str, *references: str, **settings) -> float:
    metric = ds.Meteor(**settings)
    return metric.score(metric.measure(Batch([ds.Example("1", "s", reply, (), references)])))


@pytest.mark.usefixtures("wordnet")
class TestScores:
    def test_the_same_words_score_one_and_none_in_common_zero(self):
        assert score("A cup of tea.", "a cup of tea .") == 1
        assert score("yes", "completely different") == 0

    @pytest.mark.parametrize("variant", ["1.5", "nltk"])
    @pytest.mark.parametrize(("reply", "reference"), [("", "tea"), ("tea", ""), ("", "")])
    def test_an_empty_text_scores_zero_as_the_jar_has_it(self, variant, reply, reference):
        assert score(reply, reference, **ds.Meteor.variants[variant]) == 0

    def test_the_best_reference_counts_and_is_the_one_in_the_sums(self):
        metric = ds.Meteor()
        both = metric.measure(Batch([ds.Example("1", "s", "my cat", (), ("a dog", "my cat"))]))
        alone = metric.measure(Batch([ds.Example("1", "s", "my cat", (), ("my cat",))]))
        assert np.array_equal(both.rows, alone.rows)

    def test_a_reply_too_like_one_of_its_references_is_undefined_and_reported(self, monkeypatch):
        bound_pairs(monkeypatch, 8)
        replies = [
            ("w v w v", ("v w v w", "w")),
            ("v w v w", ("w v w v w",)),
            ("w v w", ("w v w",)),
            ("w", ()),
        ]
        batch = Batch([ds.Example(str(i), "s", text, (), refs) for i, (text, refs) in enumerate(replies)])
        metric = ds.Meteor()
        tally = metric.measure(batch)
        values = metric.score_each(tally)
        assert np.isnan(values).tolist() == [False, True, False, True]
        assert metric.score(tally) == metric.score(tally.take(np.array([0, 2]))), "undefined is not zero"
        assert batch.undefined == {
            "meteor, which compares at most 8 pairs of like words of a reply and a reference "
            "(fewer for replies of more than 4,000 words)": {1}
        }

    def test_paraphrases_count_among_the_pairs(self, monkeypatch, tmp_path):
        table = tmp_path / "table.txt"
        table.write_text("0.5\na a\nb b\n")
        bound_pairs(monkeypatch, 10)
        assert np.isnan(score("a a a a a a", "b b b b b b", paraphrases=str(table)))
        assert score("a a a", "b b b", paraphrases=str(table)) > 0

    def test_inflected_synonyms_match(self):
        assert score("cars", "automobile") == pytest.approx(0.8)
        assert score("cars", "automobile", synonym_weight=0.0) == 0

    def test_a_system_is_scored_from_sums_and_by_nltk_as_a_mean(self):
        batch = Batch(
            [
                ds.Example("1", "s", "a cup of tea", (), ("a cup of tea",)),
                ds.Example("2", "s", "no", (), ("a long reply of many words",)),
            ]
        )
        official, nltk = ds.Meteor(), ds.Meteor(**ds.Meteor.variants["nltk"])
        assert official.score(official.measure(batch)) < 0.5
        values = nltk.score_each(nltk.measure(batch))
        assert nltk.score(nltk.measure(batch)) == pytest.approx(values.mean())

    def test_the_value_of_nlg_evals_unit_test_is_met(self):
        """It was made with METEOR's own table, which has no paraphrase for these texts."""
        texts = ("this is a good test", "this is a test", "this is also a test")
        assert score(*texts) == pytest.approx(0.444344, abs=1e-6)

    def test_paraphrases_are_used_from_plain_and_compressed_tables(self, tmp_path):
        plain, packed = tmp_path / "table.txt", tmp_path / "table.gz"
        plain.write_text("0.5\nat once\nright away\n")
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        without = score("come right away", "come at once")
        assert score("come right away", "come at once", paraphrases=str(plain)) > without
        assert score("come at once", "come right away", paraphrases=str(packed)) > without

    def test_the_backends_are_named_with_their_fingerprints(self, tmp_path, wordnet):
        table = tmp_path / "table.txt"
        table.write_text("0.5\na\nb\n")
        metric = ds.Meteor(paraphrases=str(table), lexicon=str(wordnet))
        lexicon, paraphrases = metric.backends
        assert lexicon == ds.WordNet(str(wordnet))
        assert paraphrases == Paraphrases(str(table))
        assert len(paraphrases.fingerprint) == len(lexicon.fingerprint) == 32
        assert ds.Meteor().backends == (ds.WordNet(),)
        assert ds.metric(str(metric)) == metric
        assert ds.metric("meteor:lexicon=fake").lexicon == FakeLexicon()


def test_a_table_gives_paraphrases_in_its_order(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("0.5\nat once\nright away\n0.1\nnow\nat once\n0.2\nat once\nnow\n")
    table = Paraphrases(str(path))
    assert table.paraphrases(["at once", "never", "now"]) == [("right away", "now"), (), ("at once",)]
    assert table.longest == 2
    assert table.paraphrases([]) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0.5\na\nb\n0.5\na\n", r"line 4: not an entry of a table of paraphrases, which has three"),
        (b"a\nb\nc\n", "line 1: not an entry"),
        (b"0.5\n\xff\nb\n", "line 1: not an entry"),
        (gzip.compress(b"0.5\na\nb\n")[:-9], r"is damaged: "),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, message):
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(BackendError, match=message):
        Paraphrases(str(path)).paraphrases(["a"])


def test_a_table_that_changes_is_read_anew(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("0.5\na\nb\n")
    table = Paraphrases(str(path))
    assert (table.paraphrases(["a"]), table.longest) == ([("b",)], 1)
    path.write_text("0.5\na\nb c\n")
    assert (table.paraphrases(["a"]), table.longest) == ([("b c",)], 2)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BackendError, match="nothing cannot be read: No such file"):
        Paraphrases(str(tmp_path / "nothing")).fingerprint  # noqa: B018


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.5}, "alpha, gamma and the weights must be between 0 and 1"),
        ({"delta": 0.0}, "delta above 0 and below 1"),
        ({"beta": 0.0}, "beta above 0 and at most 100"),
        ({"stem_weight": math.nan}, "the weights must be between 0 and 1"),
        ({"beam": 0}, "beam must be between 1 and 10000"),
        ({"definition": "1.4"}, r"meteor has no definition '1.4'. Choose one of: 1.5, nltk"),
        ({"definition": "nltk", "paraphrases": "x"}, "paraphrases are used by definition 1.5 only"),
        ({"tokenizer": "none"}, "There is no tokenizer 'none'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(MetricError, match=message):
        ds.Meteor(**settings)


def test_names_lead_to_the_variants():
    assert ds.metric("meteor") == ds.metric("meteor:variant=1.5") == ds.Meteor()
    assert ds.metric("meteor:variant=nltk").signature == (
        "meteor|definition:nltk|tokenizer:treebank|alpha:0.9|beta:3.0|gamma:0.5|delta:0.5|stem_weight:1.0"
        "|synonym_weight:1.0|paraphrase_weight:0.6|beam:40|lexicon:[wordnet|model:wordnet|v:1]|paraphrases:|v:1"
    )
    assert all(not str(one).startswith("meteor") for one in ds.suite("lexical"))
