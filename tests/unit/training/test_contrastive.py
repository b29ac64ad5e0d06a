"""A language model that learns from wrong replies too: what it is shown, and what comes of it."""

import math

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.training.dialogue_split import split
from dialoscope.training.engines.dialogue_tasks import DialogueTask
from dialoscope.training.negatives import BROKEN, KINDS

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")


def recipe(model, **settings):
    told = {"model": str(model), "epochs": 2, "batch": 128, "device": "cpu", "contrast": 0.5, "restyle": 0.0}
    return ds.LmRecipe(**told | settings)


@pytest.fixture
def made(tiny, dialogues):
    """A task with small data."""

    def of(**settings):
        return DialogueTask(recipe(tiny("llama"), **settings), split([str(dialogues)], 0.25))

    return of


def shown(task, epoch=0):
    """What stands against each other in an epoch, as texts: what was said, then the replies."""
    words = task._words
    return sorted(
        [words.decode(one[0].ids[1 : one[0].begins])]
        + [words.decode(each.ids[each.begins :]) for each in one]
        for batch in task.batches(epoch)
        for one in batch.candidates
    )


def by_transformers(folder, said, reply):
    """The mean log-probability of a reply's tokens, each text made into tokens on its own."""
    model = AutoModelForCausalLM.from_pretrained(folder).double().eval()
    words = AutoTokenizer.from_pretrained(folder)
    before = [model.config.bos_token_id, *words(said, add_special_tokens=False)["input_ids"]]
    after = words(reply, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        found = model(torch.tensor([before + after])).logits[0].log_softmax(-1)
    return np.mean([float(found[len(before) - 1 + place, token]) for place, token in enumerate(after)])


def test_the_loss_is_that_of_choosing_the_right_reply(made, tiny):
    task = made(contrast=0.7)
    for batch in task.batches(0)[:2]:
        chosen = []
        for one in batch.candidates:
            said = task._words.decode(one[0].ids[1 : one[0].begins])
            liked = [
                by_transformers(tiny("llama"), said, task._words.decode(each.ids[each.begins :]))
                for each in one
            ]
            chosen.append(math.log(sum(math.exp(other - liked[0]) for other in liked)))
        whole, alone = (float(task.loss(one).detach()) for one in (batch, batch._replace(candidates=[])))
        assert whole == pytest.approx(alone + 0.7 * np.mean(chosen), rel=1e-5)


def test_the_lesson_is_the_reply_of_people_and_wrong_ones_after_the_same_turns(made):
    task = made(begin=0.0, negatives_per_pair=2, turns=2)
    said = {
        (turns[place], tuple(turns[max(place - 2, 0) : place]))
        for turns in task.data.train
        for place in range(1, len(turns))
    }
    found = shown(task)
    assert len(found) == len(said)
    for context, right, *wrong in found:
        assert any(right == reply and "\n".join(before).endswith(context[:-1]) for reply, before in said)
        assert len(wrong) == 2
        assert right not in wrong
    assert found == shown(task)
    assert found != shown(task, 1)


def test_replies_alone_stand_beside_broken_ones(made):
    real = {turn for turns in made().data.train for turn in turns}
    task = made(begin=1.0, negatives=KINDS)
    found = shown(task)
    assert found
    for context, right, *wrong in found:
        assert context == ""
        assert right in real
        assert len(wrong) == 1
        assert not real & set(wrong)
    assert all(one[0] for one in shown(made(begin=1.0, negatives=("random", "near"))))
    assert set(BROKEN) < set(KINDS)


def test_every_exchange_is_learned_from_once_and_no_part_is_much_larger(made):
    task = made(begin=0.0, batch=64)
    batches = task.batches(0)
    sizes = [sum(len(each.ids) for one in batch.candidates for each in one) for batch in batches]
    longest = max(len(each.ids) for batch in batches for one in batch.candidates for each in one)
    assert sum(len(batch.candidates) for batch in batches) == sum(len(turns) - 1 for turns in task.data.train)
    assert max(sizes) <= sum(sizes) / len(sizes) + 3 * longest
    assert len(made(pairs=5, begin=0.0).batches(0)[0].candidates) <= 5


def test_what_is_too_long_loses_the_beginning_of_what_was_said(made):
    long = made(begin=0.0)
    most = max(len(each.ids) for batch in long.batches(0) for one in batch.candidates for each in one) // 2
    short = made(begin=0.0, max_tokens=most)
    for one in (one for batch in short.batches(0) for one in batch.candidates):
        for each in one:
            assert len(each.ids) <= most
            assert each.ids[0] == 0
            assert 1 <= each.begins < most
    whole = {tuple(each.ids) for batch in long.batches(0) for one in batch.candidates for each in one}
    ends = {ids[len(ids) - count :] for ids in whole for count in range(1, len(ids))}
    cut = [one[0] for batch in short.batches(0) for one in batch.candidates if one[0].begins > 1]
    assert cut
    assert all(tuple(each.ids[1:]) in ends for each in cut)


def test_it_learns_which_reply_belongs(tiny, rows, tmp_path):
    things = [f"{a}{b}" for a in "abcdefgh" for b in "ijklm"]
    data = rows(
        [
            {"id": f"{place} {again}", "turns": [f"do you like {thing} {again}", f"yes {thing} is good"]}
            for place, thing in enumerate(things)
            for again in range(3)
        ],
        "likes.jsonl",
    )
    how = {"method": "full", "epochs": 6, "learning_rate": 0.01, "patience": 9, "batch": 512}
    told = {"negatives": ("random",), "begin": 0.0}
    found = ds.train_lm(data, tmp_path / "x", recipe(tiny("llama"), **how, **told), validation=0.2)
    before, after = (found.spec[when]["right preferred, validation"] for when in ("before", "after"))
    assert before < 0.75
    assert after > before + 0.1
    assert set(found.spec["after"]) == {"perplexity, validation", "right preferred, validation"}
    assert "| negatives | random |" in (found.folder / "card.md").read_text()


def test_without_contrast_nothing_of_it_is_done(made, dialogues, tiny, tmp_path):
    assert not any(batch.candidates for batch in made(contrast=0.0).batches(0))
    found = ds.train_lm(
        dialogues, tmp_path / "x", recipe(tiny("llama"), contrast=0.0, epochs=1), validation=0.25
    )
    assert set(found.spec["after"]) == {"perplexity, validation"}


def test_the_figure_is_the_share_of_pairs_in_which_the_right_reply_is_likelier(made):
    task = made()
    with torch.inference_mode():
        liked = task._compare(task._validation)
    assert liked.shape == (sum(len(turns) - 1 for turns in task.data.validation), 2)
    wins = [1.0 if right > wrong else 0.5 if right == wrong else 0.0 for right, wrong in liked.tolist()]
    assert task.preference(task.data.validation) == pytest.approx(np.mean(wins))
    alike = made(batch=100_000).preference(task.data.validation)
    assert alike == pytest.approx(task.preference(task.data.validation))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contrast": -0.5}, "contrast is -0.5; it must be 0 or more."),
        ({"negatives_per_pair": 0}, "negatives_per_pair is 0; it must be 1 or more."),
        ({"negatives": ("silly",)}, "There are no wrong replies of the kind 'silly', but: random, "),
        (
            {"negatives_per_pair": 500},
            "For each reply 500 wrong ones of 7 kinds are asked for, but there are only ",
        ),
    ],
)
def test_what_cannot_be_is_told(dialogues, tiny, tmp_path, settings, message):
    with pytest.raises(TrainingError) as told:
        ds.train_lm(dialogues, tmp_path / "x", recipe(tiny("llama"), **settings), validation=0.25)
    assert message in str(told.value)
