"""Generation: greedy, with beams, and by a chance that depends on seed, prompt and sample alone."""

import dataclasses
import json
import shutil
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from dialoscope.core.errors import BackendError
from dialoscope.models.engines import generation
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Generation
from tests.unit.models.tiny import END, SENTENCES

pytestmark = pytest.mark.usefixtures("one_thread")

PROMPTS = ["", "hello", *SENTENCES[:3], " ".join(SENTENCES[:3])]
NAMES = ["llama", "gpt2", "opt", "bloom", "gemma3"]
WAYS = {
    "greedy": Generation(max_tokens=10, stop=()),
    "beams": Generation(max_tokens=8, beams=3, samples=2, stop=()),
    "sampling": Generation(
        max_tokens=8, sample=True, samples=2, top_k=20, top_p=0.9, temperature=0.8, stop=()
    ),
}


def model(folder, **settings):
    return TransformerLanguageModel(str(folder), device="cpu", **settings)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_beside_does_not_show(tiny, name, way, capfd):
    how = WAYS[way]
    together = model(tiny(name)).generate([*PROMPTS, *PROMPTS[1:3]], how)
    assert [len(texts) for texts in together] == [how.samples] * len(together)
    assert together[-2:] == together[1:3]
    assert model(tiny(name)).generate(PROMPTS[::-1], how) == together[:-2][::-1]
    for prompt, texts in list(zip(PROMPTS, together, strict=False))[::2]:
        assert model(tiny(name)).generate([prompt], how) == [texts]
    assert model(tiny(name), budget=1).generate(PROMPTS[2:4], how) == together[2:4]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_greedy_is_the_likeliest_token_each_time(tiny, name):
    theirs = AutoModelForCausalLM.from_pretrained(tiny(name)).eval()
    words = Tokenizer.from_file(str(tiny(name) / "tokenizer.json"))
    ids = [0, *words.encode(SENTENCES[0]).ids]
    for _ in range(6):
        with torch.no_grad():
            ids.append(int(theirs(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == 1:
            break
    wanted = words.decode([token for token in ids[len(words.encode(SENTENCES[0]).ids) + 1 :] if token > 1])
    assert model(tiny(name)).generate(SENTENCES[:1], Generation(max_tokens=6, stop=())) == [[wanted]]


def test_beams_are_the_likeliest_texts_and_the_best_first(tiny, tmp_path):
    """As many beams as there are tokens miss none of the texts of two tokens."""
    folder = rewritten(tiny("gpt2"), tmp_path / "endless", "config.json", eos_token_id=None)
    theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    size, before = words.get_vocab_size(), [0, *words.encode("hello").ids]
    with torch.no_grad():
        logits = theirs(torch.tensor([[*before, token] for token in range(size)])).logits.log_softmax(-1)
    both = logits[0, -2][:, None] + logits[:, -1]
    best = both.flatten().topk(4).indices.tolist()
    how = Generation(max_tokens=2, beams=size, samples=4, stop=())
    assert model(folder).generate(["hello"], how) == [[words.decode(divmod(place, size)) for place in best]]


def test_other_seeds_and_other_samples_are_other_texts(tiny):
    how = {"max_tokens": 12, "sample": True, "samples": 5, "stop": ()}
    (first,) = model(tiny("llama")).generate(["hello"], Generation(seed=1, **how))
    (again,) = model(tiny("llama")).generate(["hello"], Generation(seed=1, **how))
    (other,) = model(tiny("llama")).generate(["hello"], Generation(seed=2, **how))
    assert first == again
    assert len({*first, *other}) == 10


def test_fewer_samples_are_the_first_of_more(tiny):
    how = {"max_tokens": 8, "sample": True, "stop": ()}
    (five,) = model(tiny("llama")).generate(["hello"], Generation(samples=5, **how))
    (two,) = model(tiny("llama")).generate(["hello"], Generation(samples=2, **how))
    assert two == five[:2]


def test_sampling_among_one_token_is_greedy(tiny):
    greedy = model(tiny("llama")).generate(PROMPTS, Generation(max_tokens=8))
    assert model(tiny("llama")).generate(PROMPTS, Generation(max_tokens=8, sample=True, top_k=1)) == greedy
    assert model(tiny("llama")).generate(PROMPTS, Generation(max_tokens=8, sample=True, top_p=1e-6)) == greedy
    cold = Generation(max_tokens=8, sample=True, temperature=1e-4)
    assert model(tiny("llama")).generate(PROMPTS, cold) == greedy


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"top_k": 5},
        {"top_p": 0.5},
        {"top_k": 9, "top_p": 0.8},
    ],
    ids=str,
)
def test_tokens_come_as_often_as_their_probability_says(tiny, settings):
    draws = 3000
    how = Generation(max_tokens=1, sample=True, samples=draws, stop=(), **settings)
    (texts,) = model(tiny("gpt2"), budget=10**6).generate(["hello"], how)
    wanted = next_words(tiny("gpt2"), "hello", **settings)
    found = Counter(texts)
    assert set(found) <= {word for word, probability in wanted.items() if probability > 0}
    often = [word for word, probability in wanted.items() if probability * draws >= 5]
    rest = draws - sum(found[word] for word in often), draws * (1 - sum(wanted[word] for word in often))
    observed, expected = [found[word] for word in often], [wanted[word] * draws for word in often]
    if rest[1] > 5:
        observed, expected = [*observed, rest[0]], [*expected, rest[1]]
    scale = sum(observed) / sum(expected)
    assert scale == pytest.approx(1, abs=0.01)
    assert chisquare(observed, np.array(expected) * scale).pvalue > 1e-3


def next_words(folder, prompt, temperature=1.0, top_k=0, top_p=1.0):
    """The probability of each next text by the definitions of temperature, top-k and top-p."""
    theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with torch.no_grad():
        logits = theirs(torch.tensor([[0, *words.encode(prompt).ids]])).logits[0, -1].double().numpy()
    chances = np.exp((logits - logits.max()) / temperature)
    order = np.argsort(-chances)
    if top_k:
        chances[order[top_k:]] = 0
    chances /= chances.sum()
    before = np.concatenate([[0], np.cumsum(chances[order])[:-1]])
    chances[order[before >= top_p]] = 0
    chances /= chances.sum()
    total = Counter()
    for token, chance in enumerate(chances):
        total["" if token == 1 else words.decode([token])] += chance
    return total


def test_a_text_ends_before_the_first_stop(tiny):
    how = Generation(max_tokens=30, sample=True, samples=20, stop=())
    (free,) = model(tiny("llama")).generate(["hello"], how)
    stops = ("e", "at", "\n")
    stopped = Generation(max_tokens=30, sample=True, samples=20, stop=stops)
    (ended,) = model(tiny("llama")).generate(["hello"], stopped)
    assert ended != free
    for whole, text in zip(free, ended, strict=True):
        ends = [whole.index(stop) for stop in stops if stop in whole]
        assert text == whole[: min(ends, default=len(whole))]


def test_beams_end_before_the_first_stop(tiny):
    how = Generation(max_tokens=20, beams=3, samples=3, stop=("e", "a"))
    for texts in model(tiny("llama")).generate(PROMPTS, how):
        assert not any(stop in text for stop in how.stop for text in texts)


def test_a_row_is_done_when_all_are(tiny, monkeypatch):
    """Stops save work: nothing is generated after the last row has ended."""
    asked = []
    real = generation.Stops.__call__

    def counted(self, input_ids, scores, **others):
        asked.append(len(input_ids))
        return real(self, input_ids, scores, **others)

    monkeypatch.setattr(generation.Stops, "__call__", counted)
    every = tuple(map(chr, range(32, 127)))
    model(tiny("llama")).generate(["hello"], Generation(max_tokens=50, stop=(*every, "�", "\n")))
    assert len(asked) < 50


def test_no_more_tokens_than_asked_for(tiny):
    words = Tokenizer.from_file(str(tiny("gpt2") / "tokenizer.json"))
    for most in (1, 5):
        how = Generation(max_tokens=most, sample=True, samples=10, stop=())
        (texts,) = model(tiny("gpt2")).generate(["hello"], how)
        assert all(
            len(text.encode("utf-8", "replace")) <= most * max(map(len, words.get_vocab())) for text in texts
        )
    longer = model(tiny("gpt2")).generate(["hello"], Generation(max_tokens=9, stop=()))[0][0]
    assert longer.startswith(model(tiny("gpt2")).generate(["hello"], Generation(max_tokens=2, stop=()))[0][0])


def test_a_prompt_longer_than_the_window_loses_its_beginning_but_not_its_first_token(tiny):
    long = " ".join(SENTENCES * 6)
    words = Tokenizer.from_file(str(tiny("gpt2") / "tokenizer.json"))
    theirs = AutoModelForCausalLM.from_pretrained(tiny("gpt2")).eval()
    seen = [0, *words.encode(long).ids[-(96 - 4 - 1) :]]
    with torch.no_grad():
        token = int(theirs(torch.tensor([seen])).logits[0, -1].argmax())
    (found,) = model(tiny("gpt2")).generate([long], Generation(max_tokens=4, stop=()))[0]
    assert found.startswith(words.decode([token]))
    assert found != ""


def test_more_tokens_than_the_window_has_are_refused(tiny):
    complaint = "max_tokens is 95, but the model sees only 96 tokens at once, those of the prompt included"
    with pytest.raises(BackendError, match=complaint):
        model(tiny("gpt2")).generate(["hello"], Generation(max_tokens=95))
    assert model(tiny("gpt2")).generate(["hello"], Generation(max_tokens=94, stop=()))


def test_an_empty_prompt_needs_a_first_token(tiny):
    assert model(tiny("gpt2")).generate([""], Generation(max_tokens=3))
    with pytest.raises(BackendError, match="An empty prompt needs a token to begin with; use start='bos'"):
        model(tiny("gpt2"), start="none").generate(["hello", ""], Generation(max_tokens=3))
    bare, whole = (
        model(tiny("gpt2"), start=start).generate(SENTENCES, Generation(max_tokens=9))
        for start in ("none", "bos")
    )
    assert bare != whole


def test_nothing_asked_is_nothing_written(tiny):
    assert model(tiny("gpt2")).generate([], Generation()) == []


def test_special_tokens_in_a_prompt_are_text_and_are_not_written(tiny):
    said, plain = model(tiny("llama")).generate([f"hello {END}", "hello "], Generation(max_tokens=8, stop=()))
    assert said != plain
    assert END not in said[0]


def rewritten(folder, target, file, **changes):
    if not target.exists():
        shutil.copytree(folder, target)
    path = target / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return target


def test_the_wishes_of_a_model_do_not_show(tiny, tmp_path, capfd):
    """Penalties and a taste for chance in its own configuration of generation."""
    folder = rewritten(
        tiny("llama"),
        tmp_path / "wishes",
        "generation_config.json",
        repetition_penalty=9.0,
        do_sample=True,
        temperature=0.3,
        no_repeat_ngram_size=1,
        max_length=3,
        suppress_tokens=list(range(40)),
        min_new_tokens=5,
        forced_eos_token_id=50,
    )
    for how in WAYS.values():
        assert model(folder).generate(PROMPTS, how) == model(tiny("llama")).generate(PROMPTS, how)
    assert capfd.readouterr() == ("", "")


def test_a_token_that_ends_a_text_is_no_part_of_it_whatever_the_vocabulary_calls_it(tiny, tmp_path):
    """Here it is an ordinary word, which would show as often as other texts are longer."""
    (free,) = model(tiny("llama")).generate(["hello"], Generation(max_tokens=8, stop=()))
    words = Tokenizer.from_file(str(tiny("llama") / "tokenizer.json"))
    ending = words.encode(free[0]).ids[3]
    folder = rewritten(tiny("llama"), tmp_path / "ends", "config.json", eos_token_id=[1, ending])
    ((text,), (other,)) = model(folder).generate(["hello", SENTENCES[1]], Generation(max_tokens=8, stop=()))
    assert free[0].startswith(text)
    assert words.decode([ending]) not in text
    assert model(folder).generate([SENTENCES[1]], Generation(max_tokens=8, stop=())) == [[other]]


def test_a_model_without_a_token_that_ends_a_text_writes_until_it_must_stop(tiny, tmp_path):
    folder = rewritten(tiny("gpt2"), tmp_path / "endless", "config.json", eos_token_id=None)
    (together, _) = model(folder).generate(["hello", SENTENCES[1]], Generation(max_tokens=8, stop=("e",)))
    assert model(folder).generate(["hello"], Generation(max_tokens=8, stop=("e",))) == [together]


def test_less_is_written_at_once_when_memory_runs_out(tiny, monkeypatch):
    wanted = model(tiny("gpt2")).generate(PROMPTS, WAYS["sampling"])
    real = generation.Writer._batch
    sizes = []

    def narrow(self, starts, prompts, how):
        if len(starts) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(starts))
        return real(self, starts, prompts, how)

    monkeypatch.setattr(generation.Writer, "_batch", narrow)
    assert model(tiny("gpt2")).generate(PROMPTS, WAYS["sampling"]) == wanted
    assert sum(sizes) == len(PROMPTS)
    assert max(sizes) == 2


@pytest.mark.parametrize("way", WAYS)
def test_real_weights_write_the_same_alone_and_beside_others(smollm2, way):
    prompts = ["The capital of France is", "Hello, how are you today?", "I"]
    how = dataclasses.replace(WAYS[way], max_tokens=4)
    together = model(smollm2).generate(prompts, how)
    assert model(smollm2).generate(prompts[:1], how) == together[:1]
    assert model(smollm2).generate(prompts[:0:-1], how) == together[:0:-1]
    if way == "greedy":
        assert "Paris" in together[0][0]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_tokens": 0}, "max_tokens, samples and beams must be 1 or more"),
        ({"samples": 0, "sample": True}, "max_tokens, samples and beams must be 1 or more"),
        ({"beams": 0}, "max_tokens, samples and beams must be 1 or more"),
        ({"beams": 2, "sample": True}, "choose beams or sampling, not both"),
        ({"samples": 3}, "3 different texts need 3 beams or sample=True"),
        ({"samples": 3, "beams": 2}, "3 different texts need 3 beams or sample=True"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"temperature": float("nan")}, "temperature must be above 0"),
        ({"top_p": 0.0}, "top_p above 0 and at most 1"),
        ({"top_p": 1.1}, "top_p above 0 and at most 1"),
        ({"top_k": -1}, "top_k 0 or more"),
    ],
)
def test_ways_to_generate_that_cannot_be_are_refused(settings, complaint):
    with pytest.raises(BackendError, match=f"Generation: .*{complaint}"):
        Generation(**settings)
