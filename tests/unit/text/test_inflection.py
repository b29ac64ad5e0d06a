"""The form of a word, its article, its capitals."""

import subprocess
import sys

import pytest

from dialoscope.core.errors import MissingExtra
from dialoscope.text import inflection
from dialoscope.text.inflection import inflect, match_case, takes_an


@pytest.mark.parametrize(
    ("word", "tag", "form"),
    [
        ("buy", "VBD", "bought"),
        ("go", "VBN", "gone"),
        ("begin", "VBG", "beginning"),
        ("purchase", "VBZ", "purchases"),
        ("try", "VBZ", "tries"),
        ("child", "NNS", "children"),
        ("knife", "NNS", "knives"),
        ("carriage", "NNS", "carriages"),
        ("large", "JJR", "larger"),
        ("big", "JJS", "biggest"),
        ("fast", "RBR", "faster"),
        ("glad", "JJ", "glad"),
        ("want", "VBP", "want"),
    ],
)
def test_words_take_the_form_of_a_tag(word, tag, form):
    assert inflect(word, tag) == form


@pytest.mark.parametrize(
    ("word", "tag"), [("beautiful", "JJR"), ("advice", "NNS"), ("masses", "NNS"), ("blorf", "VBD")]
)
def test_what_a_dictionary_does_not_list_has_no_form(word, tag):
    assert inflect(word, tag) == ""


@pytest.mark.parametrize("word", ["apple", "hour", "honest", "uncle", "Umbrella", "uninteresting", "onion"])
def test_an_stands_before_a_vowel_that_is_heard(word):
    assert takes_an(word)


@pytest.mark.parametrize("word", ["car", "house", "unit", "European", "useful", "one", "university", ""])
def test_a_stands_before_everything_else(word):
    assert not takes_an(word)


def test_capitals_are_kept():
    assert [match_case("auto", model) for model in ("car", "Car", "CAR", "C")] == [
        "auto",
        "Auto",
        "AUTO",
        "Auto",
    ]


def test_a_missing_package_is_told_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "lemminflect", None)
    inflection._dictionary.cache_clear()
    inflect.cache_clear()
    with pytest.raises(
        MissingExtra, match=r"Inflection needs lemminflect\. .*pip install 'dialoscope\[tagger\]'"
    ):
        inflect("buy", "VBD")


def test_the_dictionary_is_loaded_only_when_it_is_asked():
    code = "import sys, dialoscope.augmentation; print({'lemminflect', 'spacy', 'torch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
