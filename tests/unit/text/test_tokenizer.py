"""Words: those of the code that people cite."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

import dialoscope as ds
from dialoscope.text.tokenizer import TOKENIZERS, Tokenizer

TRICKY = st.text(alphabet="ab1 2.,-'\"&;<>/{~_\n\t\0é你\u00a0\u2028", max_size=20)
LISTS = st.lists(st.one_of(TRICKY, st.text(max_size=20)), max_size=6)


@given(texts=LISTS)
@example(
    texts=["..5", "1.,2", "3.5.", "a-\nb", "&amp;lt;", "<skipped>x", "\0", "10,000-1", ".5", "5.", "- 5-"]
)
@settings(max_examples=500)
def test_13a_gives_the_words_of_sacrebleu(texts):
    oracle = Tokenizer13a()
    assert Tokenizer("13a")(texts) == [oracle(text.rstrip()).split() for text in texts]


@given(texts=LISTS)
def test_char_gives_the_words_of_sacrebleu(texts):
    oracle = TokenizerChar()
    assert Tokenizer("char")(texts) == [oracle(text.rstrip()).split() for text in texts]


@given(texts=LISTS)
@settings(max_examples=300)
def test_rouge_score_gives_the_words_of_rouge_score(texts):
    from rouge_score.tokenize import tokenize

    assert Tokenizer("rouge-score")(texts) == [tokenize(text, None) for text in texts]


@given(texts=st.lists(st.text(alphabet=st.characters(max_codepoint=127), max_size=30), max_size=5))
def test_on_ascii_words_are_those_of_rouge_score(texts):
    assert Tokenizer("words")(texts) == Tokenizer("rouge-score")(texts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("我喜欢喝茶。", ["我", "喜", "欢", "喝", "茶"]),
        ("Ça va, Zoë?", ["ça", "va", "zoë"]),
        ("Cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("ฉันชอบ", ["ฉั", "น", "ช", "อ", "บ"]),
        ("أهلا بك", ["أهلا", "بك"]),
        ("hello你好world", ["hello", "你", "好", "world"]),
        ("Привет, мир!", ["привет", "мир"]),
        ("snake_case \U0001f600", ["snake", "case"]),
    ],
)
def test_words_work_in_every_script(text, words):
    assert Tokenizer("words")([text]) == [words]


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=LISTS)
@settings(max_examples=30, deadline=None)
def test_texts_are_cut_alone(name, texts):
    tokenizer = Tokenizer(name)
    assert tokenizer(texts) == [tokenizer([text])[0] for text in texts]


def test_chinese_and_hindi_replies_do_not_score_zero():
    for reply, reference in (("我喜欢喝茶", "我也喜欢茶"), ("मुझे चाय पसंद है", "हाँ मुझे चाय बहुत पसंद है")):
        result = ds.evaluate(
            [ds.Example("1", "s", reply, (), (reference,))],
            ["rouge-1", "rouge-l", "words", "bleu-1:tokenizer=words"],
        )
        assert all(result.score(metric, "s") > 0.5 for metric in result.metrics)


def test_an_unknown_tokenizer_is_refused_with_the_known_ones():
    with pytest.raises(ds.MetricError, match=r"no tokenizer '14a'. Choose one of: 13a, words"):
        ds.Bleu(tokenizer="14a")


def test_spaces_are_those_of_str_split_and_nlg_eval_strips_first():
    texts = [" lead trail ", "a\tb\nc", "two  spaces", "", " \n"]
    assert Tokenizer("spaces")(texts) == [
        ["", "lead", "trail", ""],
        ["a\tb\nc"],
        ["two", "", "spaces"],
        [],
        [],
    ]
    assert Tokenizer("nlg-eval")(texts) == [["lead", "trail"], ["a\tb", "c"], ["two", "", "spaces"], [], []]


def test_a_signature_says_which_version_of_a_tokenizer_it_was():
    assert "|tokenizer:spaces@2|" in ds.metric("diversity:variant=pang-code").signature
    assert "|tokenizer:words|" in ds.metric("diversity").signature


def test_the_paper_s_code_counts_empty_words_for_diversity():
    replies = [
        ds.Example(str(row), "s", text, group="g") for row, text in enumerate([" lead trail ", "c d e"])
    ]
    result = ds.evaluate(replies, "diversity:variant=pang-code")
    assert result.score("diversity-2:variant=pang-code", "s") == pytest.approx(math.log(5))
