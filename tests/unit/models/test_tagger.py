"""The tagger with its real pipeline, and what it refuses to load."""

import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.signature import signature
from dialoscope.models import registry as assets
from dialoscope.models import tagger
from dialoscope.models.protocols import Word
from dialoscope.models.tagger import SpacyTagger

SENTENCES = [
    "I ran to New York yesterday with Mary's dogs.",
    "Do you like green tea?",
    "we watched three films in 2019 and loved all of them",
    "Paris is nicer than London, isn't it?",
    "ok",
    "",
    "   \n ",
    "Yesterday Mr. Smith bought Apple shares worth $ 3.5 million!",
    "\U0001f600 naïve café 你好",
    "The cats were sleeping on the mats while it was raining .",
]


@pytest.fixture
def folder(tmp_path):
    """A copy of the pipeline, to be changed."""
    return shutil.copytree(assets.locate("spacy-tagger"), tmp_path / "pipeline")


def changed(folder, old, new):
    config = (folder / "config.cfg").read_text()
    assert old in config
    (folder / "config.cfg").write_text(config.replace(old, new))
    return SpacyTagger(str(folder))


def test_words_have_lemmas_tags_and_names():
    (words,) = SpacyTagger().tag(["I  ran to New York with Mary's dogs ."])
    assert words == [
        Word("I", 0, "I", "PRP", ""),
        Word("ran", 3, "run", "VBD", ""),
        Word("to", 7, "to", "IN", ""),
        Word("New", 10, "New", "NNP", "GPE"),
        Word("York", 14, "York", "NNP", "GPE"),
        Word("with", 19, "with", "IN", ""),
        Word("Mary", 24, "Mary", "NNP", "PERSON"),
        Word("'s", 28, "'s", "POS", ""),
        Word("dogs", 31, "dog", "NNS", ""),
        Word(".", 36, ".", ".", ""),
    ]


def test_white_space_is_no_word():
    assert SpacyTagger().tag(["", " \n\t ", "a  \u2003b"])[:2] == [[], []]
    assert [word.text for word in SpacyTagger().tag(["a  \u2003b"])[0]] == ["a", "b"]


def test_batches_order_and_repetition_do_not_show():
    together = SpacyTagger().tag(SENTENCES)
    assert [SpacyTagger().tag([text])[0] for text in SENTENCES] == together
    order = [*range(len(SENTENCES))] * 3
    random.Random(3).shuffle(order)  # noqa: S311
    assert SpacyTagger().tag([SENTENCES[place] for place in order]) == [together[place] for place in order]


def test_equal_texts_do_not_share_a_list():
    one, other = SpacyTagger().tag(["tea", "tea"])
    one.clear()
    assert other


def test_threads_do_not_show():
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(SpacyTagger().tag, [SENTENCES] * 4)) == [SpacyTagger().tag(SENTENCES)] * 4


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=40))
def test_any_text_is_tagged_and_words_stand_where_they_say(text):
    (words,) = SpacyTagger().tag([text])
    for word in words:
        assert text[word.start :].startswith(word.text)
        assert word.text.strip()
    assert [word.start for word in words] == sorted(word.start for word in words)


def test_an_asset_of_another_kind_is_not_even_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    message = r"The asset 'smollm2' is not a tagger; its kind is: language model\. These can be used: spacy"
    with pytest.raises(BackendError, match=message):
        SpacyTagger("smollm2").tag(["a"])
    assert not list(tmp_path.iterdir())


def test_two_surrogates_are_two_characters():
    (words,) = SpacyTagger().tag(["\ud800\udc00 tea"])
    assert words[-1].text == "tea"
    assert words[-1].start == 3


def test_it_loads_once_and_only_when_it_is_asked_something():
    tagger._load_pipeline.cache_clear()
    one, other = SpacyTagger(), SpacyTagger("spacy-tagger")
    assert tagger._load_pipeline.cache_info().misses == 0
    one.tag(["a"])
    other.tag(["b"])
    assert tagger._load_pipeline.cache_info().misses == 1


def test_what_is_not_needed_is_not_loaded():
    SpacyTagger().tag(["a"])
    pipeline = tagger._load_pipeline(assets.locate("spacy-tagger"), assets.fingerprint("spacy-tagger"))
    assert pipeline.language.pipe_names == ["tok2vec", "tagger", "attribute_ruler", "lemmatizer", "ner"]


def test_a_folder_is_as_good_as_an_asset_and_its_content_is_its_fingerprint(folder):
    mine = SpacyTagger(str(folder))
    assert mine.tag(SENTENCES) == SpacyTagger().tag(SENTENCES)
    before = mine.fingerprint
    assert before != SpacyTagger().fingerprint
    (folder / "LICENSE").write_text("changed")
    assert mine.fingerprint != before


def test_it_signs_itself(tmp_path):
    assert signature(SpacyTagger()) == "spacy-tagger|model:spacy-tagger|v:1"
    assert SpacyTagger(tmp_path) == SpacyTagger(str(tmp_path))


def test_a_tagger_that_is_not_there_is_an_error():
    name = "nothing\x1b"
    message = r"There is no folder '.*', nor such a tagger \(spacy-tagger\)\."
    with pytest.raises(BackendError, match=message):
        SpacyTagger(name).tag(["a"])
    with pytest.raises(BackendError, match=message):
        SpacyTagger(name).fingerprint  # noqa: B018


def test_a_folder_without_a_pipeline_is_an_error(tmp_path):
    with pytest.raises(BackendError, match="cannot be loaded as a spaCy pipeline: "):
        SpacyTagger(str(tmp_path)).tag(["a"])


def test_a_damaged_pipeline_is_an_error(folder):
    (folder / "tagger" / "model").write_bytes(b"\x01\x02")
    with pytest.raises(BackendError, match="cannot be loaded as a spaCy pipeline: "):
        SpacyTagger(str(folder)).tag(["a"])


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("spacy.HashEmbedCNN.v2", "evil.Model.v1", "evil.Model.v1"),
        (
            "before_creation = null",
            'before_creation = {"@callbacks":"evil.run\\u001b.v1"}',
            r"evil.run\\x1b.v1",
        ),
        ('factory = "ner"', 'source = "some_package"', "some_package"),
        ("spacy.Tokenizer.v1", "customize_tokenizer", "customize_tokenizer"),
    ],
)
def test_what_is_not_part_of_spacy_is_refused(folder, old, new, shown):
    config = (folder / "config.cfg").read_text()
    old = old if old in config else "spacy.MaxoutWindowEncoder.v2"
    message = f"config.cfg uses '{shown}'; only components of spaCy itself are loaded"
    with pytest.raises(BackendError, match=message):
        changed(folder, old, new).tag(["a"])


def test_a_factory_that_an_installed_package_added_is_not_run(folder):
    from spacy.language import Language

    Language.factory("evil", func=lambda nlp, name: pytest.fail("foreign code"))
    message = "config.cfg uses 'evil'; only components of spaCy itself are loaded"
    with pytest.raises(BackendError, match=message):
        changed(folder, 'factory = "ner"', 'factory = "evil"').tag(["a"])


def test_no_code_beside_the_pipeline_is_run(folder):
    for name in ("__init__.py", "code.py", "spacy.py", "conftest.py", "sitecustomize.py", "evil.py"):
        (folder / name).write_text("raise SystemExit('foreign code')")
    assert SpacyTagger(str(folder)).tag(["tea"])[0][0].text == "tea"


def test_a_text_that_is_too_long_is_an_error():
    message = r"A text of 1,000,001 characters is too long for the tagger, which reads at most 1,000,000\."
    with pytest.raises(BackendError, match=message):
        SpacyTagger().tag(["a" * 1_000_001])


def test_a_missing_spacy_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "spacy.util", None)
    with pytest.raises(MissingExtra, match=r"Tagging needs spacy\. .*pip install 'dialoscope\[tagger\]'"):
        SpacyTagger(str(folder)).tag(["a"])


def test_describing_a_tagger_loads_nothing():
    program = (
        "import sys; from dialoscope.models.tagger import SpacyTagger; SpacyTagger().fingerprint; "
        "assert not {'spacy', 'thinc', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
