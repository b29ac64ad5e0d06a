"""Folders: what a training leaves behind, what it goes on with, and what it must not touch."""

import json
import math
import subprocess
import sys
import threading

import pytest

import dialoscope as ds
from dialoscope.core.errors import TrainingError
from dialoscope.training.card import table
from dialoscope.training.workplace import State, Workplace, finish

IDENTITY = {"recipe": "lm", "settings": {"seed": 0, "learning_rate": 0.001}, "data": {"files": ["x"]}}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path / "folder", IDENTITY)


def saved(place, state, content=b"weights"):
    place.begin().save(state, lambda path: path.write_bytes(content))
    return place


def done(place):
    """A checkpoint, finished."""
    place.begin()
    (place.folder / "model.safetensors").write_bytes(b"weights")
    return finish(place, IDENTITY, ({"epoch": 1},), "# card\n")


# On the way


def test_how_far_it_is_comes_back(place):
    assert place.state() == State()
    assert not State().has_begun
    state = State().after_step(2.5).after_step(1.5)
    assert saved(place, state).state() == state
    assert state.has_begun
    judged = state.after_epoch(3.0)
    assert saved(place, judged).state() == judged
    assert judged == State(
        1, 0, 0.0, 3.0, 0, ({"epoch": 1, "batches": 2, "training": 2.0, "validation": 3.0},)
    )


def test_the_best_is_what_was_best():
    state = State().after_epoch(3.0).after_epoch(1.0).after_epoch(2.0).after_epoch(1.0)
    assert (state.best, state.without_improvement, state.epoch) == (1.0, 2, 4)
    astray = State().after_epoch(math.nan)
    assert (astray.best, astray.without_improvement) == (math.inf, 1)


def test_what_was_saved_before_is_removed_once_the_new_is_whole(place):
    saved(place, State(0, 1), b"one")
    saved(place, State(0, 2), b"two")
    assert place.weights.read_bytes() == b"two"
    assert sorted(path.name for path in place.work.iterdir()) == [
        "state.json",
        "weights-0-2.safetensors",
    ]


def test_a_save_that_fails_leaves_what_was_there(place):
    saved(place, State(0, 1), b"one")

    def full(path):
        path.write_bytes(b"tw")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        place.save(State(0, 2), full)
    assert place.state() == State(0, 1)
    assert place.weights.read_bytes() == b"one"


def test_a_folder_that_is_free_may_be_there_already(place):
    place.folder.mkdir()
    assert place.begin().work.is_dir()
    assert place.begin().state() == State()


def refused(place):
    with pytest.raises(TrainingError) as caught:
        place.begin()
    return str(caught.value)


def test_a_finished_checkpoint_is_not_overwritten(place):
    done(place)
    assert refused(place) == f"{place.folder} holds a finished checkpoint; name another folder."


def test_what_a_kill_at_the_very_end_left_is_removed_when_the_folder_is_named_again(place):
    done(place)
    place.work.mkdir()
    (place.work / "weights-1-0.safetensors").write_bytes(b"what the optimizer remembered")
    assert refused(place) == f"{place.folder} holds a finished checkpoint; name another folder."
    assert not place.work.exists()


def test_foreign_files_are_not_touched(place):
    place.folder.mkdir()
    (place.folder / "thesis.tex").write_text("...")
    assert refused(place) == f"{place.folder} is not empty, and holds no training; name another folder."
    assert [path.name for path in place.folder.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(place, tmp_path):
    place.folder.write_text("...")
    assert refused(place) == f"{place.folder} is not empty, and holds no training; name another folder."
    below = Workplace(place.folder / "x", IDENTITY)
    assert refused(below) == f"{below.folder} cannot be written: Not a directory."


@pytest.mark.parametrize("changed", [{"settings": {"seed": 1}}, {"data": {"files": ["y"]}}, {"more": 1}])
def test_another_training_does_not_go_on_with_it(place, changed):
    saved(place, State(0, 1))
    assert refused(Workplace(place.folder, IDENTITY | changed)) == (
        f"{place.folder} holds the beginning of a training with other settings or data; name another folder, "
        "or remove it."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "Expecting property name"), ("[]", "it holds no training"), ("7", "'int' object is not iterable")],
)
def test_a_damaged_note_is_told(place, content, why):
    saved(place, State(0, 1))
    (place.work / "state.json").write_text(content)
    message = refused(place)
    assert message.startswith(f"{place.work / 'state.json'} cannot be read ({why}")
    assert message.endswith(f"; remove {place.folder}.")


def test_a_training_that_fails_before_anything_was_saved_leaves_nothing(place):
    with pytest.raises(TrainingError, match="too few"), place.hold():
        raise TrainingError("too few")
    assert not place.folder.exists()


@pytest.mark.parametrize("where", ["", "seed-3"])
def test_one_that_fails_later_can_be_gone_on_with(place, where):
    inner = Workplace(place.work / where, IDENTITY) if where else place
    with pytest.raises(TrainingError, match="too late"), place.hold():  # noqa: PT012
        saved(inner, State(epoch=1))
        raise TrainingError("too late")
    assert inner.state() == State(epoch=1)


def test_one_process_at_a_time(place, capsys):
    """The second waits, and finds a finished checkpoint."""
    found = []

    def second():
        try:
            with place.hold():
                found.append("began")
        except TrainingError as error:
            found.append(str(error))

    with place.hold():
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.3)
        assert not found
        done(place)
    waiting.join(10)
    assert found == [f"{place.folder} holds a finished checkpoint; name another folder."]
    said = capsys.readouterr().err
    assert said == f"Another process trains in {place.folder}; waiting for it to end.\n"


# At its end


def test_a_checkpoint_says_how_it_came_about(place):
    found = done(place)
    assert sorted(path.name for path in place.folder.iterdir()) == [
        "card.md",
        "history.jsonl",
        "model.safetensors",
        "spec.json",
    ]
    assert (place.folder / "history.jsonl").read_text() == '{"epoch": 1}\n'
    assert json.loads((place.folder / "spec.json").read_text()) == {**IDENTITY, "hash": found.hash}
    assert ds.Checkpoint.load(place.folder) == found
    assert ds.Checkpoint.load(str(place.folder)).spec["recipe"] == "lm"


def test_the_hash_is_of_all_weights(place):
    found = done(place)
    before = found.hash
    (place.folder / "card.md").write_text("other")
    assert found.hash == before
    (place.folder / "model-2.safetensors").write_bytes(b"")
    assert found.hash != before


@pytest.mark.parametrize("damage", ["changed", "removed", "added"])
def test_damage_is_refused(place, damage):
    done(place)
    file = place.folder / ("other.safetensors" if damage == "added" else "model.safetensors")
    file.unlink() if damage == "removed" else file.write_bytes(b"weightz")
    with pytest.raises(TrainingError) as caught:
        ds.Checkpoint.load(place.folder)
    assert str(caught.value) == (
        f"{place.folder} is damaged: its weights are not those that the training left there."
    )


@pytest.mark.parametrize("content", ["[]", "{}", '"x"'])
def test_a_spec_that_says_nothing_is_refused(place, content):
    done(place)
    (place.folder / "spec.json").write_text(content)
    with pytest.raises(TrainingError, match="is damaged"):
        ds.Checkpoint.load(place.folder)


@pytest.mark.parametrize("content", [None, "{", "\udcff"])
def test_what_is_not_finished_is_refused(place, content):
    place.begin()
    if content:
        (place.folder / "spec.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(TrainingError) as caught:
        ds.Checkpoint.load(place.folder)
    assert str(caught.value).startswith(f"{place.folder} holds no finished checkpoint: ")


def test_loading_needs_no_torch(place):
    done(place)
    code = (
        f"import sys, dialoscope as ds; ds.Checkpoint.load({str(place.folder)!r}); ds.LmRecipe(); "
        "assert not {'torch', 'transformers', 'peft'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_names_in_a_card_are_one_visible_line():
    assert table(["name"], [["a|b\n\x1b[2J"]])[-1] == "| a\\|b\\n\\x1b[2J |"
