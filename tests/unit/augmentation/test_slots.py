"""Which words are replaced, and by what."""

import pytest

from dialoscope.augmentation.function_words import KEPT
from dialoscope.augmentation.slots import slots
from dialoscope.augmentation.synonyms import same_word, synonyms
from dialoscope.models.tagger import SpacyTagger
from dialoscope.models.wordnet import WordNet
from tests.unit.augmentation.conftest import ListLexicon, NotedTagger

LEXICON = ListLexicon(
    (
        "n: car 40, auto 10, motorcar 0",
        "n: car 2, carriage 5",
        "v: buy 50, purchase 30, acquire 2",
        "v: want 60, desire 40",
        "v: use 9, apply 9",
        "v: go 9, travel 9",
        "a: glad 9, happy 9, gray 0, grey 0",
        "v: hold_on 3",
        "v: turn_down 3, refuse 9",
        "v: hold 9, grip 9",
        "v: turn 9, rotate 9",
        "n: apple 5, Malus 9, malus_pumila 9, pomme 3",
        "n: seat 9, ass 9",
    )
)


def found(note):
    """What can stand for which word."""
    text = NotedTagger.plain(note)
    (words,) = NotedTagger((note,)).tag([text])
    those = slots(text, words, LEXICON, "")
    return {slot.word.text: [option.text for option in slot.options] for slot in those}


def test_synonyms_take_the_form_and_the_capitals_of_the_word():
    assert found("Cars/NNS/car BOUGHT/VBD/buy") == {
        "Cars": ["Autos", "Carriages", "Motorcars"],
        "BOUGHT": ["PURCHASED", "ACQUIRED"],
    }


def test_the_likeliest_synonym_comes_first():
    by = synonyms(LEXICON, "", "car", "n")
    assert [one.word for one in by] == ["auto", "carriage", "motorcar"]
    assert all(0 < one.likelihood < 1 for one in by)
    assert synonyms(LEXICON, "", "unheard", "n") == ()


def test_names_phrases_and_rude_words_are_no_synonyms():
    assert found("apple/NN") == {"apple": ["pomme"]}
    assert found("seat/NN") == {}


@pytest.mark.parametrize(("one", "other"), [("colour", "color"), ("kick", "kicking"), ("realise", "realize")])
def test_a_form_or_spelling_of_a_word_is_the_same_word(one, other):
    assert same_word(one, other)
    assert not same_word("car", "auto")


def test_spellings_of_one_word_are_offered_once():
    (words,) = NotedTagger(("view/VB",)).tag(["view"])
    (slot,) = slots("view", words, ListLexicon(("v: view 9, visualize 5, visualise 5",)), "")
    assert [option.text for option in slot.options] == ["visualize"]


def test_what_the_text_says_anyway_is_not_put_in():
    assert found("car/NN and/CC autos/NNS/auto") == {
        "car": ["carriage", "motorcar"],
        "autos": ["motorcars"],
    }


def test_names_function_words_and_odd_tokens_are_left_alone():
    assert found("car/NN/PERSON car/NNP have/VBP/have café/NN can/MD") == {}


@pytest.mark.parametrize("text", ["car-pool", "#car", "a.car", "car@home", "car's", "car/bus", "www.car.com"])
def test_part_of_a_longer_word_is_left_alone(text):
    (words,) = NotedTagger(("car/NN",)).tag(["car"])
    moved = [words[0]._replace(start=text.index("car"))]
    assert slots(text, moved, LEXICON, "") == []
    assert slots("my car.", [words[0]._replace(start=3)], LEXICON, "")


def test_expressions_are_left_whole():
    assert found("hold/VB on/RP") == {}
    assert found("hold/VB it/PRP") == {"hold": ["grip"]}
    assert found("turned/VBD/turn it/PRP down/RP") == {}
    assert found("turned/VBD/turn it/PRP around/RP") == {"turned": ["rotated"]}


def test_half_auxiliaries_are_left_alone_before_to():
    assert found("used/VBD/use to/TO") == {}
    assert found("used/VBD/use it/PRP") == {"used": ["applied"]}


def test_a_synonym_that_needs_no_other_article_comes_first():
    assert found("a/DT car/NN") == {"car": ["carriage", "motorcar", "auto"]}


def test_only_the_first_words_of_a_long_text_are_looked_at():
    note = " ".join(f"car/NN x{number}/IN" for number in range(60))
    text = NotedTagger.plain(note)
    (words,) = NotedTagger((note,)).tag([text])
    assert len(slots(text, words, LEXICON, "")) == 40


def test_real_text_with_the_real_tagger(tagger):
    text = "Did Anna really buy two apples in London? She wanted to get up early, didn't she?"
    lexicon = WordNet()
    (words,) = SpacyTagger().tag([text])
    those = slots(text, words, lexicon, lexicon.fingerprint)
    assert {slot.word.text: slot.kind for slot in those} == {
        "really": "modifiers",
        "buy": "verbs",
        "wanted": "verbs",
        "early": "modifiers",
    }
    assert [slot.options[0].text for slot in those][:3] == ["truly", "purchase", "desired"]
    first, second = those[0].sentence, those[-1].sentence
    assert text[slice(*first)] == "Did Anna really buy two apples in London?"
    assert text[slice(*second)] == "She wanted to get up early, didn't she?"


def test_words_that_are_kept_are_written_in_small_letters():
    assert all(word == word.lower() and word.strip() for word in KEPT)
