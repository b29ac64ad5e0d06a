"""The baseline that answers with what people said to something similar."""

import itertools

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.text.nearest import TfidfIndex, rank_by_similarity, split_words

PAIRS = [
    ("where is the station", "round the corner"),
    ("where is my red hat", "on your head"),
    ("the hat is red", "no, it is blue"),
    ("where is the station", "ask the driver"),
    ("...", "silence"),
    ("do you like tea", "I do"),
]


@pytest.fixture
def corpus(rows):
    return rows([{"context": [context], "response": reply} for context, reply in PAIRS], "corpus.jsonl")


def test_the_reply_to_the_nearest_context_is_given(corpus):
    system = ds.system(f"retrieval:{corpus}")
    assert system.reply([("Hello", "Where is the STATION, please?"), ("Is your hat red?",), ("tea!",)]) == [
        ["round the corner"],
        ["no, it is blue"],
        ["I do"],
    ]
    assert system.label == "retrieval-corpus"
    assert str(system) == str(corpus)


def test_further_samples_are_the_next_in_nearness(corpus):
    system = ds.RetrievalSystem(str(corpus))
    assert system.reply([("where is the station?",)], samples=4, seed=9) == [
        ["round the corner", "ask the driver", "no, it is blue", "on your head"]
    ]


def test_the_very_same_context_is_left_out_unless_wanted(corpus):
    asked = [("where is the station",)]
    assert ds.RetrievalSystem(corpus).reply(asked) == [["no, it is blue"]]
    assert ds.RetrievalSystem(corpus, same=True).reply(asked) == [["round the corner"]]


def test_more_turns_can_be_compared(rows):
    path = rows(
        [
            {"context": ["my cat is ill", "oh no"], "response": "poor cat"},
            {"context": ["my dog is ill", "oh no"], "response": "poor dog"},
        ]
    )
    asked = [("the dog is ill", "oh no")]
    assert ds.RetrievalSystem(path).reply(asked) == [["poor cat"]]
    for turns in (0, 2):
        assert ds.RetrievalSystem(path, turns=turns).reply(asked) == [["poor dog"]]


def test_what_nothing_comes_near_to_has_no_reply(corpus):
    system = ds.RetrievalSystem(corpus)
    found = ds.respond([["¿?"], ["xyzzy"], ["tea"]], system, samples=2)
    assert [row.get("error") for row in found.rows] == [
        "nothing in the corpus has a word in common with this",
        "nothing in the corpus has a word in common with this",
        "nothing in the corpus has a word in common with this",
        "nothing in the corpus has a word in common with this",
        None,
        "no more than 1 replies in the corpus have a word in common with this",
    ]


def test_dialogues_are_a_corpus_too(rows):
    path = rows([{"turns": ["shall we go", "yes", "where to", "the sea"]}])
    assert ds.RetrievalSystem(path).reply([("but where",)]) == [["the sea"]]


def test_a_corpus_that_is_none_is_refused(rows, tmp_path):
    with pytest.raises(BackendError, match=r"There is no corpus .*none\.jsonl"):
        ds.RetrievalSystem(f"{tmp_path}/none.jsonl").reply([("a",)])
    with pytest.raises(BackendError, match="it has no turn with a turn before it"):
        ds.RetrievalSystem(rows([{"response": "alone"}])).reply([("a",)])
    with pytest.raises(BackendError, match="The asset 'smollm2' is not a set of dialogues"):
        ds.RetrievalSystem("smollm2").reply([("a",)])


def test_a_changed_corpus_is_read_anew(rows):
    path = rows([{"context": ["hi you"], "response": "one"}])
    assert ds.RetrievalSystem(path).reply([("hi",)]) == [["one"]]
    rows([{"context": ["hi you"], "response": "another"}])
    assert ds.RetrievalSystem(path).reply([("hi",)]) == [["another"]]


def test_nearness_is_the_cosine_of_tf_idf():
    """Against the definition, written down plainly."""
    texts = ["a b b c", "a c", "d d d", "", "a b c d e"]
    rarity = {
        word: np.log((1 + len(texts)) / (1 + sum(word in text.split() for text in texts))) + 1
        for word in "abcde"
    }

    def vector(text):
        counts = {word: text.split().count(word) for word in "abcde"}
        return np.array([rarity[word] * (1 + np.log(n)) if n else 0 for word, n in counts.items()])

    index = TfidfIndex(texts)
    for asked in ("a b", "d d e", "c b b b", "a z"):
        mine = vector(asked)
        wanted = [
            mine @ vector(text) / max(np.linalg.norm(mine) * np.linalg.norm(vector(text)), 1e-9)
            for text in texts
        ]
        np.testing.assert_allclose(index.similarities(asked), wanted, atol=1e-12)


def test_of_equally_near_ones_the_first_comes_first():
    values = np.array([0.5, 0.0, 0.9, 0.5, 0.5, 0.1])
    assert [rank_by_similarity(values, most).tolist() for most in (1, 2, 3, 9)] == [
        [2],
        [2, 0],
        [2, 0, 3],
        [2, 0, 3, 4, 5],
    ]
    for order in itertools.permutations(range(4)):
        assert rank_by_similarity(np.array([0.2, 0.2, 0.2, 0.2])[list(order)], 2).tolist() == [0, 1]
    assert split_words("Don't — STOP, 42!") == ["don't", "stop", "42"]


@pytest.mark.assets
@pytest.mark.parametrize("name", ["chitchat", "movie-dialogues"])
def test_the_assets_are_corpora(name):
    from dialoscope.core.errors import AssetError
    from dialoscope.models.registry import locate

    try:
        locate(name)
    except AssetError as lacking:
        pytest.skip(str(lacking))
    system = ds.system(f"retrieval:{name}")
    ((first, second),) = system.reply([("What do you like to eat for breakfast?",)], samples=2)
    assert first
    assert second
    assert first != second
    assert len(system.fingerprint) == 64
