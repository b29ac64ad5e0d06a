"""Specificity: whose words are rare, and among which texts."""

import json
import math

import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError, MetricError
from dialoscope.metrics.shared.word_counts import WordCounts
from dialoscope.text.tokenizer import Tokenizer
from tests.golden._shared import HERE, load_texts

GOLDEN = json.loads((HERE / "specificity.json").read_text(encoding="utf-8"))


def value(text, metric="specificity"):
    (found,) = ds.evaluate([ds.Example("1", "s", text)], metric).values(metric)
    return found


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("tea or cake\ntea and milk\ntea\nmilk tea\n", encoding="utf-8")
    return path


def test_it_is_what_other_peoples_counts_give(tmp_path):
    (case,) = GOLDEN["cases"]
    chosen = [one for one in load_texts() if one["id"] in case["replies"]]
    corpus = tmp_path / "corpus.jsonl"
    rows = [{"id": one["id"], "response": "-", "references": one["references"]} for one in chosen]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    metric = ds.Specificity(corpus=corpus)
    found = ds.evaluate([ds.Example(one["id"], "s", one["response"]) for one in chosen], metric)
    expected = [math.nan if each is None else each for each in case["replies"].values()]
    assert found.values(metric) == pytest.approx(expected, nan_ok=True, rel=1e-12)
    assert len(expected) > 30


def test_the_commonest_word_has_nothing_and_an_unknown_one_all(texts):
    metric = ds.Specificity(corpus=texts)
    assert value("tea", metric) == 0
    assert value("Tea, TEA!", metric) == 0
    assert value("cake", metric) == value("zeppelin", metric) == 1
    assert value("milk", metric) == pytest.approx(0.5)  # in 2 of 4 texts: log 2 / log 4
    assert value("milk tea", metric) == pytest.approx(0.25)


def test_saying_it_twice_makes_it_no_more_specific():
    once = value("My zeppelin needs a new rudder")
    assert value("My zeppelin needs a new rudder. My zeppelin needs a new rudder.") == pytest.approx(once)
    assert once > value("I do not know what you want")


def test_words_of_every_script_count():
    assert value("你好") == 1
    assert math.isnan(value("..."))
    assert math.isnan(value(""))


def test_a_file_that_changed_is_counted_again(texts):
    metric = ds.Specificity(corpus=texts)
    assert value("cake", metric) == 1
    before = WordCounts(str(texts)).fingerprint
    texts.write_text("cake\ncake\ntea\n", encoding="utf-8")
    assert value("cake", metric) == 0
    assert WordCounts(str(texts)).fingerprint != before


def test_the_record_of_a_run_holds_a_hash_of_the_words():
    found = ds.evaluate([ds.Example("1", "s", "hello")], "specificity")
    assert found.provenance.models == {
        "word-counts|corpus:talk-words|v:1": WordCounts("talk-words").fingerprint
    }


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"corpus": "absent.txt"}, MetricError, r"There is no file of texts 'absent\.txt' to count words in"),
        (
            {"corpus": "minilm"},
            BackendError,
            r"'minilm' is not a table of words; its kind is: encoder\. These ",
        ),
        ({"corpus": "a,b"}, MetricError, r"specificity: rename the corpus, since a comma in its name parts"),
        (
            {"tokenizer": "13a"},
            MetricError,
            r"of words as the tokenizer 'words' cuts them, not '13a'\. Name a ",
        ),
        ({"tokenizer": "letters"}, MetricError, r"There is no tokenizer 'letters'"),
    ],
)
def test_what_cannot_be_counted_in_is_refused(settings, error, told):
    with pytest.raises(error, match=told):
        value("hello", ds.Specificity(**settings))


def test_a_corpus_in_which_no_word_comes_back_is_refused(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("tea or cake\n", encoding="utf-8")
    with pytest.raises(
        MetricError, match=r"No word stands in two texts of .*one\.txt, so that none is rarer"
    ):
        value("tea", ds.Specificity(corpus=path))


def test_the_shipped_table_is_the_commonest_words_first():
    counts = WordCounts("talk-words").counts(Tokenizer("words"))
    assert len(counts.words) == 21290
    assert list(counts.words.values()) == sorted(counts.words.values(), reverse=True)
    assert min(counts.words.values()) == 3
    assert counts.most == counts.words["i"]
