"""Augmenting, from data to rows."""

import json
import math
import os
from dataclasses import dataclass
from threading import Thread
from typing import ClassVar

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.augmentation import augmented
from dialoscope.augmentation.generator import Generator
from dialoscope.augmentation.similarity import cosine_similarities
from dialoscope.augmentation.substitution import Substitution
from dialoscope.core.errors import DataError, DialoscopeError
from dialoscope.data.contexts import read_contexts
from dialoscope.models.fakes import FakeEncoder, FakeLanguageModel
from dialoscope.models.protocols import Pair
from tests.unit.augmentation.conftest import ListLexicon, NotedTagger

LEXICON = ListLexicon(
    (
        "n: car 99, auto 60, motorcar 4",
        "v: buy 99, purchase 60, acquire 4",
        "a: quick 50, speedy 40",
        "n: dog 9, xylophone 9",
        "v: run 9, jog 9",
    )
)
NOTE = "I/PRP buy/VBP a/DT quick/JJ car/NN"
QUERY = NotedTagger.plain(NOTE)


@dataclass(frozen=True)
class Alike:
    """To whom all texts are the same, but for some words."""

    name: ClassVar[str] = "alike"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "alike"

    far: tuple[str, ...] = ()

    def encode(self, texts):
        return np.array(
            [[1.0, sum(word in str(text).split() for word in self.far)] for text in texts], np.float32
        )

    def encode_tokens(self, texts):
        raise NotImplementedError


def substituted(*notes, k=4, min_similarity=None, encoder=None, **how):
    method = Substitution(NotedTagger((*notes, "x/IN")), LEXICON)
    data = [[NotedTagger.plain(note)] for note in notes]
    return ds.augment(data, method, k, min_similarity=min_similarity, encoder=encoder or Alike(), **how)


def said(made, group="1"):
    return {row["variant"]: row["context"][-1] for row in made if row["group"] == group}


def test_all_kinds_at_once_and_each_alone():
    made = substituted(NOTE)
    assert said(made) == {
        "original": "I buy a quick car",
        "all": "I purchase a speedy auto",
        "verbs": "I purchase a quick car",
        "nouns": "I buy a quick auto",
        "modifiers": "I buy a speedy car",
    }
    assert [row["id"] for row in made] == [f"1#{number}" for number in range(5)]
    assert {row["group"] for row in made} == {"1"}
    assert [row["changes"] for row in made][:3] == [
        [],
        [["buy", "purchase"], ["quick", "speedy"], ["car", "auto"]],
        [["buy", "purchase"]],
    ]
    assert made.counts.missing == {}
    assert made.summary() == ["1 query, 4 variants: all 4 for 1, fewer for 0, none for 0 (left out)."]
    assert len(made) == 5


def test_next_synonyms_follow_when_more_are_wanted():
    texts = said(substituted(NOTE, k=9))
    assert len(set(texts.values())) == 10
    assert texts["all 2"] == "I acquire a quick motorcar"
    assert texts["verbs 2"] == "I acquire a quick car"


def test_every_mixture_is_tried_before_a_query_comes_short():
    made = substituted("car/NN dog/NN", k=50)
    assert len(made) == 1 + 5  # two synonyms or none, times one or none, less nothing at all
    assert made.counts.partial == 1
    assert len(set(said(made).values())) == 6


def test_one_kind_of_words_alone_is_called_by_its_name():
    made = substituted("buy/VB it/PRP", k=1)
    assert said(made) == {"original": "buy it", "verbs": "purchase it"}
    assert made.counts.missing == {"modifiers": 1, "nouns": 1}
    assert made.summary()[1:] == [
        "1 query: no adjective or adverb with a suitable synonym.",
        "1 query: no noun with a suitable synonym.",
    ]


def test_an_article_goes_with_the_new_word():
    lexicon = ListLexicon(("n: car 40, auto 40",))
    notes = ("A/DT car/NN", "an/DT auto/NN")
    made = ds.augment([["A car"], ["an auto"]], Substitution(NotedTagger(notes), lexicon), 1, encoder=Alike())
    assert [row["context"] for row in made] == [["A car"], ["An auto"], ["an auto"], ["a car"]]
    assert made.rows[1]["changes"] == [["A", "An"], ["car", "auto"]]


def test_a_word_is_replaced_by_the_same_word_wherever_it_stands():
    made = substituted("buy/VB ./. they/PRP bought/VBD/buy", k=1)
    assert said(made)["verbs"] == "purchase . they purchased"


class Crowded(Alike):
    """To whom one new word is nothing, but every further one is far off."""

    def encode(self, texts):
        new = [sum(word in text.split() for word in self.far) for text in texts]
        return np.array([[1.0, max(0, count - 1)] for count in new], np.float32)


NEW = ("purchase", "acquire", "speedy", "auto", "motorcar")


def test_a_variant_that_is_too_far_loses_its_worst_replacements():
    made = substituted(NOTE, k=1, encoder=Crowded(NEW), min_similarity=0.9)
    (best,) = made.rows[1]["changes"]
    assert best == ["quick", "speedy"]  # the word with the fewest other synonyms
    assert made.rows[1]["variant"] == "modifiers"
    assert made.counts.rejected == 2
    assert made.summary()[-1] == "2 drafts: too different from the query; others were tried."


def test_what_is_too_far_makes_room_for_others():
    made = substituted(NOTE, k=5, encoder=Crowded(NEW), min_similarity=0.9)
    assert made.counts.variants == 5
    assert all(len(row["changes"]) == 1 for row in made.rows[1:])
    assert all(row["similarity"] >= 0.9 for row in made)
    assert len(set(said(made).values())) == 6


def test_a_synonym_that_changes_the_sentence_less_comes_first():
    assert said(substituted(NOTE))["nouns"] == "I buy a quick auto"
    assert said(substituted(NOTE, encoder=Alike(("auto",))))["nouns"] == "I buy a quick motorcar"


def test_a_synonym_that_makes_another_sentence_is_none():
    class Elsewhere(Alike):
        def encode(self, texts):
            return np.array([[-1.0 if "auto" in text.split() else 1.0] for text in texts], np.float32)

    made = substituted(NOTE, k=50, encoder=Elsewhere(), min_similarity=-1)
    assert made.counts.rejected == 0
    assert {"motorcar", "speedy"} <= {new for row in made for _, new in row["changes"]}
    assert all("auto" not in row["context"][0].split() for row in made)


def test_a_meaning_that_cannot_be_told_is_not_near():
    class Blank(Alike):
        def encode(self, texts):
            return np.zeros((len(texts), 2), np.float32)

    made = substituted(NOTE, encoder=Blank())
    assert (len(made), made.counts.without) == (0, 1)
    assert math.isnan(cosine_similarities(Blank(), [Pair("a", "b")])[0])
    assert len(cosine_similarities(Blank(), [])) == 0


def test_doubtful_words_are_replaced_alone_and_last():
    lexicon = ListLexicon(("v: buy 50, purchase 40", "v: go 30, travel 30", "v: run 30, flow 0"))
    note = "buy/VB and/CC go/VB and/CC run/VB"
    made = ds.augment(
        [["buy and go and run"]], Substitution(NotedTagger((note,)), lexicon), 4, encoder=Alike()
    )
    assert said(made) == {
        "original": "buy and go and run",
        "verbs": "purchase and go and run",
        "verbs 2": "buy and travel and run",
        "verbs 3": "buy and go and flow",
    }


def test_the_seed_decides_between_synonyms_that_are_as_good():
    lexicon = ListLexicon(("n: car 9, auto 9, motorcar 9, carriage 9",))

    def first(seed):
        method = Substitution(NotedTagger(("car/NN",)), lexicon)
        return ds.augment([["car"]], method, 1, encoder=Alike(), seed=seed).rows[1]["context"][0]

    assert [first(3) for _ in range(3)] == [first(3)] * 3
    assert {first(seed) for seed in range(20)} == {"auto", "motorcar", "carriage"}


def test_other_queries_do_not_show():
    alone = substituted(NOTE)
    among = substituted("buy/VB it/PRP", NOTE, "run/VB")
    assert list(said(among, "2").items()) == list(said(alone).items())


def test_queries_that_nothing_can_stand_for_are_left_out_and_counted():
    made = substituted("oh/UH no/UH", NOTE)
    assert {row["group"] for row in made} == {"2"}
    assert made.counts.without == 1


def test_empty_queries_are_counted():
    method = Substitution(NotedTagger((NOTE,)), LEXICON)
    made = ds.augment([["Hello.", "  "], [QUERY]], method, encoder=Alike())
    assert (made.counts.queries, made.counts.blank, made.counts.without) == (2, 1, 1)
    assert "1 query: blank." in made.summary()


def test_history_and_references_come_along():
    method = Substitution(NotedTagger((NOTE,)), LEXICON)
    example = ds.Example("a", "bot", "Nice.", ("Hi.", QUERY), ("Really?",))
    made = ds.augment([example], method, 1, encoder=Alike())
    assert made.rows[1] == {
        "id": "a#1",
        "group": "a",
        "variant": "all",
        "context": ["Hi.", "I purchase a speedy auto"],
        "changes": [["buy", "purchase"], ["quick", "speedy"], ["car", "auto"]],
        "similarity": 1.0,
        "references": ["Really?"],
    }


def test_asking_again_puts_the_variant_behind_the_reply():
    method = Substitution(NotedTagger((NOTE,)), LEXICON)
    examples = [
        ds.Example("a", system, reply, ("Hi.", QUERY), ("So?",))
        for system, reply in (("x", "Yes."), ("y", "No."))
    ]
    made = ds.augment(examples, method, 1, ask="again", encoder=Alike())
    assert [(row["id"], row["system"], row["context"][1:]) for row in made] == [
        ("x/a#0", "x", [QUERY, "Yes.", QUERY]),
        ("x/a#1", "x", [QUERY, "Yes.", "I purchase a speedy auto"]),
        ("y/a#0", "y", [QUERY, "No.", QUERY]),
        ("y/a#1", "y", [QUERY, "No.", "I purchase a speedy auto"]),
    ]
    assert all(row["references"] == ["So?"] for row in made)
    alone = ds.augment([ds.Example("a", "x", "Yes.", (QUERY,))], method, 1, ask="again", encoder=Alike())
    assert [row["id"] for row in alone] == ["a#0", "a#1"]
    assert "references" not in alone.rows[0]


def test_one_system_can_be_asked_again_by_itself():
    method = Substitution(NotedTagger((NOTE,)), LEXICON)
    examples = [ds.Example("a", system, f"{system}.", ("Hi.", QUERY)) for system in ("x", "y\x1b", "z")]

    def again(**how):
        return ds.augment(examples, method, 1, ask="again", encoder=Alike(), **how)

    told = "Replies of 3 systems; name one with --system, and ask it its own rows only."
    assert told in again().summary()
    alone = again(system="z")
    assert [(row["id"], row["system"], row["context"][2]) for row in alone] == [
        ("a#0", "z", "z."),
        ("a#1", "z", "z."),
    ]
    assert (alone.counts.queries, alone.counts.systems, len(alone.summary())) == (1, 1, 1)
    with pytest.raises(DataError, match=r"There is no reply of a system 'w'; there are: x, y\\x1b, z\."):
        again(system="w")
    examples += [ds.Example("a", f"s{number}", "Yes.", (QUERY,)) for number in range(9)]
    with pytest.raises(DataError, match=r"s5, s6, \.\.\.\.$"):
        again(system="w")


def test_who_is_asked_in_other_words_is_not_said_when_the_query_is_replaced():
    assert substituted(NOTE).counts.systems == 0
    with pytest.raises(
        DialoscopeError,
        match=r"A system can be named only to ask it again \(ask='again'\); variants are the same",
    ):
        substituted(NOTE, system="x")


def test_groups_can_be_had_of_one_size():
    notes = (NOTE, "buy/VB it/PRP")
    plain, full = substituted(*notes, k=3), substituted(*notes, k=3, full=True)
    assert [sum(row["group"] == group for row in plain) for group in ("1", "2")] == [4, 3]
    assert [sum(row["group"] == group for row in full) for group in ("1", "2")] == [4, 0]
    assert plain.summary()[0] == "2 queries, 5 variants: all 3 for 1, fewer for 1, none for 0 (left out)."
    assert (
        full.summary()[0]
        == "2 queries, 3 variants: all 3 for 1, fewer for 1 (left out), none for 0 (left out)."
    )


def test_asking_again_reads_files_and_what_was_read(tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps({"id": "a", "context": [QUERY], "response": "Yes."}) + "\n")
    method = Substitution(NotedTagger((NOTE,)), LEXICON)
    for data in (path, str(path), ds.read(path)):
        made = ds.augment(data, method, 1, ask="again", encoder=Alike())
        assert made.rows[0]["context"] == [QUERY, "Yes.", QUERY]


def test_asking_again_needs_replies_that_answer_something(tmp_path):
    path = tmp_path / "contexts.jsonl"
    path.write_text(json.dumps({"id": "a", "context": [QUERY]}) + "\n")
    with pytest.raises(DataError, match=r"Asking again needs replies, not only contexts: pass what ds"):
        ds.augment(read_contexts(path), ask="again")
    with pytest.raises(DataError, match=r"no column `response`"):
        ds.augment(path, ask="again")
    with pytest.raises(
        DataError, match=r"replies with a context, the last turn of which they answer; no reply"
    ):
        ds.augment([ds.Example("a", "x", "Yes.")], ask="again")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "magic\x1b"}, r"There is no method 'magic\\x1b'; choose one of: wordnet, generator\."),
        ({"k": 0}, r"k is 0; ask for 1 variant or more\."),
        ({"ask": "twice"}, r"ask is 'twice'; it must be one of: instead, again\."),
        ({"min_similarity": 2}, r"min_similarity is 2; a cosine is between -1 and 1\."),
        ({"min_similarity": math.nan}, r"min_similarity is nan; a cosine is between -1 and 1\."),
        (
            {"lm": "smollm2"},
            r"A language model and sampling are settings of the generator: method='generator'\.",
        ),
        ({"sample": True}, r"A language model and sampling are settings of the generator"),
    ],
)
def test_what_makes_no_sense_is_refused(how, message):
    with pytest.raises(DialoscopeError, match=message):
        ds.augment([["Hi."]], **how)


@dataclass(frozen=True)
class Scripted:
    """A language model that says what it is told to."""

    name: ClassVar[str] = "scripted"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "scripted"

    lines: tuple[str, ...]

    def log_probabilities(self, texts):
        raise NotImplementedError

    def generate(self, prompts, how):
        assert (how.beams, how.sample) == (how.samples, False)
        assert all(prompt.endswith("\n") for prompt in prompts)
        return [list(self.lines) for _ in prompts]


def test_beams_stand_for_the_query_once_each():
    lines = (" Sure. ", "sure", "", "What now?", "No.", "Why?")
    data = [["Hi.", "what now"], ["Alone."]]
    made = ds.augment(data, Generator(Scripted(lines)), 2, encoder=Alike())
    assert [(row["id"], row["variant"], row["context"]) for row in made] == [
        ("1#0", "original", ["Hi.", "what now"]),
        ("1#1", "beam 1", ["Hi.", "Sure."]),
        ("1#2", "beam 5", ["Hi.", "No."]),
    ]
    assert made.counts.missing == {"history": 1}
    assert "1 query: no turn before it that a generator could continue." in made.summary()
    assert "generator|lm:[scripted|lines:" in made.signature


def test_beams_too_far_from_the_query_make_room():
    made = ds.augment(
        [["Hi.", "so"]],
        Generator(Scripted(("odd one", "even one"))),
        1,
        encoder=Alike(("odd",)),
        min_similarity=0.9,
    )
    assert [row["variant"] for row in made] == ["original", "beam 2"]
    assert made.counts.rejected == 1


def test_a_generator_can_draw_at_random():
    data = [["One two three four five six.", "Seven."]]

    def drawn(seed, lm="fake", encoder="fake"):
        return ds.augment(data, "generator", 3, lm=lm, sample=True, encoder=encoder, seed=seed).rows

    assert [row["variant"] for row in drawn(1)][:2] == ["original", "sample 1"]
    assert drawn(1) == drawn(1, FakeLanguageModel(), FakeEncoder())
    assert drawn(1) != drawn(2)


def test_no_query_with_a_history_asks_the_generator_nothing():
    made = ds.augment([["Hi."]], Generator(Scripted(())), encoder=Alike())
    assert len(made) == 0


def test_rows_are_saved_whole_or_not_at_all(tmp_path):
    made = substituted(NOTE)
    path = tmp_path / "variants.jsonl"
    made.save(path)
    assert [json.loads(line) for line in path.read_text().splitlines()] == list(made.rows)
    with pytest.raises(DataError, match=r"variants\.jsonl exists already; choose another name, or replace"):
        made.save(path)
    made.save(path, overwrite=True)
    with pytest.raises(DataError, match=r"exists already"):
        made.save(tmp_path, overwrite=True)
    with pytest.raises(DataError, match=r"no\x2dsuch/x\.jsonl: there is no folder .*no-such to write it to"):
        made.save(tmp_path / "no-such" / "x.jsonl")
    assert [one.name for one in tmp_path.iterdir()] == ["variants.jsonl"]


def test_rows_that_another_process_was_faster_with_are_saved_beside_its_own(tmp_path, monkeypatch):
    made, path = substituted(NOTE), tmp_path / "variants.jsonl"
    monkeypatch.setattr(augmented, "check_output", lambda path, overwrite: path.write_text("of another"))
    with pytest.raises(DataError) as refused:
        made.save(path)
    assert str(refused.value) == (
        f"{path} was written by another process in the meantime, and is not replaced without --overwrite. "
        f"These rows were saved as {tmp_path}/variants-2.jsonl."
    )
    assert path.read_text() == "of another"
    assert (tmp_path / "variants-2.jsonl").read_text() == made.jsonl()


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    made, path, read = substituted(NOTE), tmp_path / "pipe", []
    os.mkfifo(path)
    reader = Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    made.save(path)
    reader.join(10)
    assert read == [made.jsonl()]
    assert path.is_fifo()


def test_hostile_text_comes_through_as_it_is(tagger, tmp_path):
    texts = [
        "\ud800 buy it",
        "\x1b[2J I want a car \u202e",
        "买车吗？",
        "🚗" * 50,
        "a" * 5000,
        "buy\x00 cars",
    ]
    made = ds.augment([[text] for text in texts])
    made.save(tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(made)
    assert any("\x1b[2J I desire" in row["context"][0] for row in made)
    assert made.counts.without >= 3


def test_real_queries_with_the_real_models(tagger):
    data = [["I want to buy a car."], ["She bought a small house near the beautiful lake."], ["Thanks!"]]
    made = ds.augment(data)
    assert said(made)["verbs"] == "I desire to purchase a car."
    assert any("purchased" in text for text in said(made, "2").values())
    assert "3" not in {row["group"] for row in made}
    assert made.rows == ds.augment(data).rows
    assert made.signature.startswith("substitution|tagger:[spacy-tagger|model:spacy-tagger|v:1]|lexicon:")
    for group in ("1", "2"):
        texts = list(said(made, group).values())
        assert len(set(texts)) == len(texts)
    assert all(0.7 <= row["similarity"] <= 1 for row in made)
