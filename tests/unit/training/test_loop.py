"""The loop: when it stops, what it keeps, and that being stopped does not show."""

import math

import pytest
import torch
from safetensors.torch import load_file

from dialoscope.core.errors import TrainingError
from dialoscope.training.engines.loop import Loop
from dialoscope.training.recipes import LmRecipe
from dialoscope.training.workplace import Workplace

pytestmark = pytest.mark.usefixtures("one_thread")


class Killed(BaseException):
    """What happens to a training, as far as it can notice."""


class Line:
    """A line through points, some of which are dropped by chance; how good it is is told beforehand."""

    def __init__(self, judged=(), killed_at=math.inf):
        torch.manual_seed(0)
        self.model = torch.nn.Linear(3, 1)
        self.judged, self.killed_at, self.steps, self.met = list(judged), killed_at, 0, []

    def batches(self, epoch):
        chance = torch.Generator().manual_seed(epoch)
        return [torch.randn(4, 4, generator=chance) for _ in range(5)]

    def loss(self, batch):
        if self.steps >= self.killed_at:
            raise Killed
        self.steps += 1
        kept = torch.nn.functional.dropout(batch[:, :3], 0.4, self.model.training)
        return (self.model(kept)[:, 0] - batch[:, 3]).square().mean()

    def validate(self):
        assert not self.model.training
        self.met.append(self.weights())
        with torch.inference_mode():
            far = float((self.model(torch.ones(1, 3)) - 1).abs())
        return self.judged.pop(0) if self.judged else far

    def weights(self):
        return {name: one.detach().clone() for name, one in self.model.named_parameters()}


def recipe(**settings):
    return LmRecipe(**{"epochs": 4, "patience": 9, "learning_rate": 0.1, **settings})


def place(folder):
    return Workplace(folder, {"x": 1}).begin()


def trained(folder, task=None, clock=None, save_every=60.0, **settings):
    task = task or Line()
    more = {"clock": clock} if clock else {}
    state = Loop(task, recipe(**settings), place(folder), save_every, **more).run()
    return state, task.weights()


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("killed_at", [1, 4, 5, 6, 12, 19])
@pytest.mark.parametrize("save_every", [0.0, 3600.0])
def test_being_killed_does_not_show(tmp_path, killed_at, save_every, capsys):
    """With every step saved, and with epochs alone; also where nothing at all was saved."""
    state, wanted = trained(tmp_path / "whole")
    with pytest.raises(Killed):
        trained(tmp_path / "killed", Line(killed_at=killed_at), save_every=save_every)
    capsys.readouterr()
    again = Line()
    went_on, found = trained(tmp_path / "killed", again, save_every=save_every)
    assert went_on == state
    assert same(found, wanted)
    kept = killed_at if not save_every else killed_at // 5 * 5
    assert again.steps == 20 - kept
    told = f"Resuming epoch {kept // 5 + 1} after {kept % 5} batches.\n"
    assert (told in capsys.readouterr().err) == bool(kept)


def test_being_killed_again_and_again_does_not_show(tmp_path):
    _, wanted = trained(tmp_path / "whole")
    for _ in range(9):
        with pytest.raises(Killed):
            trained(tmp_path / "killed", Line(killed_at=2), save_every=0.0)
    assert same(trained(tmp_path / "killed")[1], wanted)


def test_the_same_seed_gives_the_same_weights(tmp_path):
    _, one = trained(tmp_path / "one")
    assert same(one, trained(tmp_path / "two")[1])
    assert not same(one, trained(tmp_path / "three", seed=1)[1])


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 4), (3, 8), (9, 8)])
def test_it_stops_when_it_no_longer_improves(tmp_path, patience, epochs):
    told = [3.0, 2.0, 2.0, 2.5, 1.0, 1.0, 1.0, 1.5]
    state, _ = trained(tmp_path / "x", Line(told), patience=patience, epochs=8)
    assert [entry["validation"] for entry in state.history] == told[:epochs]


def test_the_best_weights_are_in_the_model(tmp_path):
    task = Line([3.0, 1.0, 2.0, 2.0])
    state, found = trained(tmp_path / "x", task)
    assert (state.best, state.epoch) == (1.0, 4)
    assert same(found, task.met[1])
    assert not same(found, task.met[3])


def test_a_best_epoch_survives_a_kill(tmp_path):
    _, wanted = trained(tmp_path / "whole", Line([3.0, 1.0, 2.0, 2.0]))
    with pytest.raises(Killed):
        trained(tmp_path / "killed", Line([3.0, 1.0, 2.0], killed_at=17), save_every=0.0)
    assert same(trained(tmp_path / "killed", Line([2.0]))[1], wanted)


class Clock:
    """A second for each look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def test_time_is_up_with_the_best_so_far(tmp_path):
    state, found = trained(tmp_path / "x", clock=Clock(), minutes=0.2)
    assert [entry["batches"] for entry in state.history] == [5, 1]
    kept = load_file(tmp_path / "x" / ".training" / "best.safetensors")
    assert same(found, kept)


def test_however_little_time_there_is_something_is_learned(tmp_path):
    state, _ = trained(tmp_path / "x", clock=Clock(), minutes=1e-9)
    assert [entry["batches"] for entry in state.history] == [1]


def test_it_is_saved_when_time_has_passed(tmp_path, monkeypatch):
    saved = []
    save = Workplace.save
    monkeypatch.setattr(
        Workplace, "save", lambda self, state, write: (saved.append(state.step), save(self, state, write))
    )
    trained(tmp_path / "x", clock=Clock(), save_every=3.0, epochs=1)
    assert saved == [3, 0]


def test_a_training_that_goes_astray_is_told(tmp_path):
    with pytest.raises(TrainingError) as caught:
        trained(tmp_path / "x", Line([math.nan] * 4))
    assert str(caught.value) == (
        "The training diverged: validation is not a number after any epoch. Lower the learning rate, and "
        "name another folder."
    )


def test_an_epoch_that_goes_astray_is_not_the_best(tmp_path):
    state, _ = trained(tmp_path / "x", Line([2.0, math.nan, 3.0, math.nan]))
    assert state.best == 2.0


@pytest.mark.parametrize("which", ["weights", "best"])
def test_damaged_weights_are_told(tmp_path, which):
    with pytest.raises(Killed):
        trained(tmp_path / "x", Line(killed_at=7 if which == "weights" else 6))
    file = getattr(place(tmp_path / "x"), which)
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(TrainingError) as caught:
        trained(tmp_path / "x", Line([9.0] * 9))
    assert str(caught.value).startswith(f"{file} cannot be read (")
    assert str(caught.value).endswith(f"; remove {tmp_path / 'x'}.")


def test_the_rate_rises_and_falls(tmp_path):
    rates = []

    class Watched(Loop):
        def _step(self, batch, step, steps):
            found = super()._step(batch, step, steps)
            rates.append(self.optimizer.param_groups[0]["lr"])
            return found

    Watched(Line(), recipe(epochs=10), place(tmp_path / "x")).run()
    top = rates.index(max(rates))
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < rates[0] < 0.01
    assert max(rates) == pytest.approx(0.1, rel=0.05)
    assert 0 < rates[-1] < 0.01
