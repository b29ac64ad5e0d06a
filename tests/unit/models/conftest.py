"""Small models for the backends, made once, and a real one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def own_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A score cache that is empty and of this test alone."""
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DIALOSCOPE_SCORES", raising=False)
    return tmp_path / "cache" / "scores-1.sqlite"


@pytest.fixture
def no_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is computed."""
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads cost small models more than they gain."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small model by its name, which is made when it is first asked for."""
    from tests.unit.models.tiny import save_model

    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = save_model(name, tmp_path_factory.mktemp("models") / name)
        return made[name]

    return folder
