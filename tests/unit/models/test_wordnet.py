"""WordNet read by us against WordNet read by NLTK, from the same files; and files that are none of its."""

import pickle
import random
import shutil
import time

import nltk.data
import pytest
from nltk.corpus import wordnet as nltk_wordnet

from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.metrics import meteor
from dialoscope.models import wordnet as reading
from dialoscope.models.fakes import FakeLexicon
from dialoscope.models.protocols import Lexicon
from dialoscope.models.wordnet import PARTS, WordNet

ENDINGS = ("s", "es", "ies", "ves", "men", "ed", "ing", "er", "est")


@pytest.fixture(scope="module")
def oracle(wordnet, tmp_path_factory):
    """NLTK's reader, which wants the files where it looks for its own."""
    folder = tmp_path_factory.mktemp("nltk")
    shutil.copytree(wordnet, folder / "corpora" / "wordnet")
    folder.chmod(0o755)
    nltk.data.path.insert(0, str(folder))
    nltk_wordnet.ensure_loaded()
    return nltk_wordnet


@pytest.fixture(scope="module")
def words(wordnet) -> list[str]:
    """Listed words and what endings make of them, every irregular form, and no words at all."""
    listed = [
        line.split()[0]
        for part in PARTS.values()
        for line in (wordnet / f"index.{part}").read_text().splitlines()
        if not line.startswith(" ")
    ]
    irregular = [
        line.split()[0]
        for part in PARTS.values()
        for line in (wordnet / f"{part}.exc").read_text().splitlines()
    ]
    chance = random.Random(3)  # noqa: S311 - no secret
    some = chance.sample(listed, 4000)
    inflected = [word[: -chance.randint(1, 3)] + chance.choice(ENDINGS) for word in some]
    return [*some, *inflected, *irregular, "", "zzz", "run v", "né", "\ud800", "You"]


def written(synset) -> str:
    return f"{'a' if synset.pos() == 's' else synset.pos()}{synset.offset():08d}"


def test_it_gives_the_synsets_of_nltk_and_their_members(oracle, words):
    lexicon = WordNet()
    for word in words:
        theirs = list(dict.fromkeys(oracle.synsets(word)))
        assert list(lexicon.synsets(word)) == [written(synset) for synset in theirs], word
        for synset in theirs:
            assert list(lexicon.members(written(synset))) == synset.lemma_names()


def test_it_gives_the_base_forms_of_nltk(oracle, words):
    lexicon = WordNet()
    for word in words:
        for part in PARTS:
            assert list(lexicon.base_forms(word, part)) == oracle._morphy(word.lower(), part), (word, part)


def test_what_is_look_up_is_looked_up_as_it_stands(wordnet):
    lexicon = WordNet(str(wordnet))
    assert lexicon.listed("dogs") == ()
    assert lexicon.listed("dog", "v") == ("v02001858",)
    assert set(lexicon.listed("dog", "v")) < set(lexicon.listed("dog"))
    assert lexicon.synsets("dogs", "v") == lexicon.listed("dog", "v")
    assert lexicon.irregular("went") == ("go",)
    assert lexicon.irregular("dogs") == ()
    assert lexicon.members("n09044862")[:2] == ("United_States", "United_States_of_America")


def test_it_is_a_light_value_that_signs_itself(wordnet):
    lexicon = WordNet()
    assert pickle.loads(pickle.dumps(lexicon)) == lexicon  # noqa: S301 - our own
    assert signature(lexicon) == "wordnet|model:wordnet|v:1"
    assert isinstance(lexicon, Lexicon)
    assert isinstance(FakeLexicon(), Lexicon)
    assert lexicon.fingerprint == WordNet(str(wordnet)).fingerprint
    assert len(lexicon.fingerprint) == 32


def test_the_fingerprint_changes_with_the_files(wordnet, tmp_path):
    copy = shutil.copytree(wordnet, tmp_path / "other")
    (copy / "adv.exc").write_text("best well\n")
    assert WordNet(str(copy)).fingerprint != WordNet().fingerprint


def test_it_is_ready_with_little_work(wordnet):
    """In processor time, which other programs do not lengthen; about 0.1 seconds, of 3 that are allowed."""
    for remembering in (reading._index, reading._exceptions, reading._look_up):
        remembering.cache_clear()
    clock = time.process_time()
    assert WordNet().synsets("running")
    assert time.process_time() - clock < 3


def test_a_folder_without_its_files_is_refused(tmp_path):
    (tmp_path / "index.noun").write_text("dog n 1 0 1 0 00000001\n")
    with pytest.raises(
        BackendError, match=r"does not contain WordNet: it has no data\.noun\. Name a folder with the"
    ):
        WordNet(str(tmp_path)).synsets("dog")


@pytest.fixture
def tiny(tmp_path):
    """A lexicon of one noun."""
    for part in PARTS.values():
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (tmp_path / name).write_text("")
    (tmp_path / "index.noun").write_text("dog n 1 0 1 0 00000000  \n")
    (tmp_path / "data.noun").write_text("00000000 05 n 02 dog 0 hound(p) 0 000 | a beast  \n")
    return tmp_path


def test_any_folder_in_wordnets_form_will_do(tiny):
    lexicon = WordNet(str(tiny))
    assert lexicon.synsets("dogs") == ("n00000000",)
    assert lexicon.members("n00000000") == ("dog", "hound")


def test_a_lexicon_that_changes_is_read_anew_once_its_fingerprint_is_asked_for(tiny):
    lexicon = WordNet(str(tiny))
    before = lexicon.fingerprint
    assert (lexicon.listed("cat"), meteor._synsets(lexicon, before, "cat")) == ((), ())
    (tiny / "index.noun").write_text("cat n 1 0 1 0 00000000  \n")
    assert lexicon.fingerprint != before
    assert lexicon.listed("cat") == ("n00000000",)


def test_meteor_sees_a_lexicon_change(tiny):
    lexicon = WordNet(str(tiny))
    words = ["dog", "hound"]
    assert meteor._Alike.among(words, lexicon).meanings["dog"] == {"dog"}
    assert meteor._synonyms(words, lexicon) == {}
    (tiny / "index.noun").write_text("dog n 1 0 1 0 00000000  \nhound n 1 0 1 0 00000000  \n")
    (tiny / "data.noun").write_text("00000000 05 n 02 dog 0 hound 0 000 | a beast  \n")
    assert meteor._Alike.among(words, lexicon).meanings["dog"] == {"dog", "hound"}
    assert meteor._synonyms(words, lexicon) == {"dog": ["hound"], "hound": ["dog"]}


@pytest.mark.parametrize(
    "damage", [b"", b"00000000 05 n zz dog 0 000 | a\n", b"\xff\xff\n", b"00000000 05\n"]
)
def test_damaged_data_is_refused(tiny, damage):
    (tiny / "data.noun").write_bytes(damage)
    with pytest.raises(BackendError, match=r"data\.noun is not a file of WordNet, or it is damaged\."):
        WordNet(str(tiny)).members("n00000000")


@pytest.mark.parametrize("name", ["index.verb", "noun.exc"])
def test_files_that_are_no_text_are_refused(tiny, name):
    (tiny / name).write_bytes(b"\xff\xfe\n")
    with pytest.raises(BackendError, match=f"{name} is not a file of WordNet, or it is damaged"):
        WordNet(str(tiny)).synsets("dogs")


def test_a_damaged_line_of_an_index_is_refused(tiny):
    (tiny / "index.noun").write_text("dog n many\n")
    with pytest.raises(BackendError, match=r"index\.noun is not a file of WordNet, or it is damaged"):
        WordNet(str(tiny)).synsets("dog")


def test_a_file_that_vanished_is_named(tiny):
    lexicon = WordNet(str(tiny))
    assert lexicon.listed("cat") == ()
    (tiny / "data.noun").unlink()
    with pytest.raises(BackendError, match=r"data\.noun cannot be read: No such file"):
        lexicon.members("n00000000")


def test_the_fake_obeys_the_same_rules():
    fake = FakeLexicon()
    assert fake.synsets("cars") == fake.listed("car") == ("n:car",)
    assert fake.listed("cars") == ()
    assert fake.listed("film", "v") == ()
    assert fake.irregular("bought") == ("buy",)
    assert fake.irregular("car") == ()


def test_an_asset_of_another_kind_is_not_even_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    message = r"The asset 'smollm2' is not a lexicon; its kind is: language model\. These can be used: word"
    with pytest.raises(BackendError, match=message):
        WordNet("smollm2").synsets("dog")
    assert not list(tmp_path.iterdir())


def test_it_counts_meanings_as_nltk_does(oracle, words):
    lexicon = WordNet()
    for word in list(words)[:300]:
        for lemma in oracle.lemmas(word.lower()):
            synset = lemma.synset()
            part = "a" if synset.pos() == "s" else synset.pos()
            assert lexicon.count(lemma.name(), f"{part}{synset.offset():08}") == lemma.count(), lemma


def test_a_word_that_has_no_such_meaning_counts_nothing(wordnet, tiny):
    assert WordNet().count("dog", "n00000000") == 0
    assert WordNet(str(tiny)).count("dog", "n00000000") == 0


def test_counts_are_read_where_they_are_and_are_part_of_the_fingerprint(tiny):
    before = WordNet(str(tiny)).fingerprint
    (tiny / "index.sense").write_text("dog%1:05:00:: 00000000 1 42\n")
    assert WordNet(str(tiny)).fingerprint != before
    assert WordNet(str(tiny)).count("Dog", "n00000000") == 42


@pytest.mark.parametrize("content", [b"dog%9:05:00:: 00000000 1 42\n", b"dog%1:05 1\n", b"\xff\xfe"])
def test_damaged_counts_are_refused(tiny, content):
    (tiny / "index.sense").write_bytes(content)
    with pytest.raises(BackendError, match=r"index\.sense is not a file of WordNet, or it is damaged\."):
        WordNet(str(tiny)).count("dog", "n00000000")
