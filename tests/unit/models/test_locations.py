"""Where models are: folders, assets and the hub, and how their content is known again."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.safe_text import printable
from dialoscope.models import registry as assets
from dialoscope.models.locations import configuration, fingerprint, model_folder, weight_names

HUB = Path(__file__).with_name("hub.py")
KNOWN = (
    "These assets are models: smollm2, minilm, mpnet, smollm2-dialog, smollm2-chat, nli, ruber-unreferenced."
)
USABLE = "These can be used: smollm2, minilm, mpnet, smollm2-dialog, smollm2-chat, nli, ruber-unreferenced."


@pytest.fixture
def folder(tiny, tmp_path):
    return shutil.copytree(tiny("gpt2"), tmp_path / "model")


def complaint(text):
    return pytest.raises(BackendError, match=f"^{re.escape(text)}$")


def test_a_folder_is_itself(folder, monkeypatch):
    assert model_folder(str(folder)) == folder
    monkeypatch.chdir(folder.parent)
    assert model_folder("model") == Path("model")
    monkeypatch.setenv("HOME", str(folder.parent))
    assert model_folder("~/model") == folder


def test_a_folder_goes_before_an_asset_of_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    folder.rename("smollm2")
    assert model_folder("smollm2") == Path("smollm2")
    assert fingerprint("smollm2") == fingerprint(str(folder.with_name("smollm2")))


def test_an_asset_is_found_by_its_name(smollm2):
    assert model_folder("smollm2") == smollm2
    assert fingerprint("smollm2") == assets.fingerprint("smollm2")


def test_an_asset_that_is_no_model_is_not_even_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_CACHE", str(tmp_path))
    with complaint(f"The asset 'wordnet' is not a model; its kind is: lexicon. {USABLE}"):
        model_folder("wordnet")
    with complaint(f"The asset 'wordnet' is not a model; its kind is: lexicon. {USABLE}"):
        fingerprint("wordnet")
    assert not list(tmp_path.iterdir())


def test_a_folder_without_a_configuration_is_no_model(tmp_path):
    with complaint(f"'{tmp_path}' is not a model: {tmp_path} has no config.json."):
        model_folder(str(tmp_path))


def test_weights_that_could_run_code_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with complaint(
        f"'{folder}' has no weights in safetensors, the only supported format, since others can run code. "
        "Save it again with model.save_pretrained(folder, safe_serialization=True)."
    ):
        model_folder(str(folder))


@pytest.mark.parametrize(
    "name",
    ["/no/such/folder", "./here", "a/b/c", "~nobody-of-this-name/model", "x" * 5000 + "/y/z", "a\0b", "a b"],
)
def test_what_can_be_no_name_on_the_hub_must_be_a_folder(name):
    with complaint(
        f"There is no folder '{printable(name)}'. Name a folder, an asset, or a model on the hub."
    ):
        model_folder(name)


# Fingerprints


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "generation_config.json", "model.safetensors"]
)
def test_a_changed_file_is_another_model(folder, name):
    before = fingerprint(str(folder))
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    assert fingerprint(str(folder)) != before


@pytest.mark.parametrize("name", ["vocab.json", "chat_template.jinja", "vocab.bpe", "a.spm", "b.tiktoken"])
def test_added_files_that_are_read_count_and_others_do_not(folder, name):
    before = fingerprint(str(folder))
    (folder / "README.md").write_text("Words about it.")
    (folder / "LICENSE").write_text("Do as you like.")
    (folder / ".gitattributes").write_text("*.bin")
    (folder / "runs").mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    assert fingerprint(str(folder)) == before
    (folder / name).write_text("{}")
    assert fingerprint(str(folder)) != before


def test_the_place_of_a_folder_does_not_count(folder, tiny):
    assert fingerprint(str(folder)) == fingerprint(str(tiny("gpt2"))) != fingerprint(str(tiny("llama")))


def test_where_one_file_ends_and_the_next_begins_counts(folder):
    (folder / "a.txt").write_text("one")
    (folder / "b.txt").write_text("two")
    before = fingerprint(str(folder))
    (folder / "a.txt").write_text("onetwo")
    (folder / "b.txt").write_text("")
    assert fingerprint(str(folder)) != before


# What is in a folder


def test_a_configuration_is_read(folder):
    assert configuration(folder)["model_type"] == "gpt2"


@pytest.mark.parametrize("content", ["{", "[1]", ""])
def test_a_configuration_that_cannot_be_read_is_named(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(BackendError, match=rf"^{folder / 'config.json'} cannot be read: ."):
        configuration(folder)


def test_weights_are_known_by_name_without_being_loaded(folder):
    assert "transformer.wte.weight" in weight_names(folder)
    (folder / "model.safetensors").write_bytes(b"no weights")
    assert weight_names(folder) == frozenset()
    (folder / "model.safetensors").unlink()
    assert weight_names(folder) == frozenset()


# The hub


@pytest.fixture(scope="module")
def hub(tiny, tmp_path_factory):
    """A real server process with a model, and one whose weights could run code."""
    served = tmp_path_factory.mktemp("hub")
    shutil.copytree(tiny("llama"), served / "good")
    (served / "good" / "README.md").write_text("Not fetched.")
    (served / "good" / "pytorch_model.bin").write_bytes(b"Not fetched either.")
    shutil.copytree(served / "good", served / "old", ignore=lambda *_: ["model.safetensors"])
    with subprocess.Popen(
        [sys.executable, str(HUB), str(served)], stdout=subprocess.PIPE, text=True
    ) as running:
        yield running.stdout.readline().strip()
        running.terminate()


def ask(name, endpoint, home, *, offline=""):
    """In a process of its own, since the hub's package reads its settings when it is imported."""
    code = (
        "import sys\n"
        "from dialoscope.models.locations import model_folder\n"
        "from dialoscope.core.errors import BackendError\n"
        "try:\n"
        f"    print(model_folder({name!r}))\n"
        "except BackendError as error:\n"
        "    print(error)\n"
        "from huggingface_hub import constants\n"
        "assert constants.HF_HUB_DISABLE_TELEMETRY\n"
        "assert 'torch' not in sys.modules\n"
    )
    environment = {
        **os.environ,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "DIALOSCOPE_OFFLINE": offline,
        "NO_PROXY": "127.0.0.1",
    }
    environment.pop("HF_HUB_OFFLINE", None)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip(), told.stderr.strip()


def test_a_model_is_fetched_from_the_hub_once(hub, tmp_path, tiny):
    answer, notice = ask("tiny/good", hub, tmp_path)
    found = Path(answer)
    assert notice == "Fetching tiny/good (main) from the Hugging Face hub."
    assert {file.name for file in found.iterdir()} == {file.name for file in tiny("llama").iterdir()}
    assert (found / "model.safetensors").read_bytes() == (tiny("llama") / "model.safetensors").read_bytes()
    assert fingerprint(str(found)) == fingerprint(str(tiny("llama")))
    nobody = "http://127.0.0.1:9"
    assert ask("tiny/good", nobody, tmp_path) == (answer, "")
    assert ask("tiny/good", nobody, tmp_path, offline="1") == (answer, "")


def test_weights_of_the_hub_that_could_run_code_are_refused(hub, tmp_path):
    assert ask("tiny/old", hub, tmp_path)[0] == (
        "'tiny/old' has no weights in safetensors, the only supported format, since others can run code. "
        "Save it again with model.save_pretrained(folder, safe_serialization=True)."
    )


@pytest.fixture
def in_this_process(hub, tmp_path, monkeypatch):
    """The hub's package has read its settings, so they are changed where it keeps them."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", hub)
    template = hub + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("DIALOSCOPE_OFFLINE", raising=False)


def test_a_model_of_the_hub_has_the_fingerprint_of_its_content(in_this_process, tiny, capfd):
    assert fingerprint("tiny/good") == fingerprint(str(tiny("llama")))
    assert capfd.readouterr().err == "Fetching tiny/good (main) from the Hugging Face hub.\n"
    assert model_folder("tiny/good").is_dir()
    assert capfd.readouterr().err == "", "once"


def test_a_model_that_the_hub_does_not_have_is_an_error_for_people(in_this_process, capfd):
    said = "There is no model 'tiny/none' on this machine, and the download failed: "
    with pytest.raises(BackendError, match=f"^{said}[^\n]+ Name the folder of the model. {KNOWN}$"):
        model_folder("tiny/none")


def test_a_hub_that_cannot_be_reached_is_an_error_for_people(in_this_process, monkeypatch, capfd):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    said = "There is no model 'tiny/good' on this machine, and the download failed: "
    with pytest.raises(BackendError, match=f"^{said}.*Connect"):
        model_folder("tiny/good")


def test_offline_the_hub_is_not_asked(in_this_process, monkeypatch, capfd):
    monkeypatch.setenv("DIALOSCOPE_OFFLINE", "1")
    with complaint(
        "There is no model 'tiny/good' on this machine, and Dialoscope is offline. "
        f"Name the folder of the model. {KNOWN}"
    ):
        model_folder("tiny/good")
    assert capfd.readouterr().err == ""


def test_the_hubs_package_is_named_where_it_is_lacking(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    needs = "The model 'some/model' needs huggingface_hub. Install it with: pip install 'dialoscope[neural]'"
    with pytest.raises(MissingExtra, match=f"^{re.escape(needs)}$"):
        model_folder("some/model")


def test_an_adapter_on_top_of_itself_is_refused(tmp_path):
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(tmp_path)}))
    with pytest.raises(BackendError, match="which is an adapter itself"):
        fingerprint(str(tmp_path))


def test_an_adapter_in_another_format_is_refused(tmp_path):
    (tmp_path / "adapter_model.bin").write_bytes(b"")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(BackendError, match="has no weights in safetensors"):
        model_folder(str(tmp_path))


def test_the_hash_of_an_asset_is_known_without_fetching_it(monkeypatch):
    monkeypatch.setattr(assets, "locate", lambda name: pytest.fail("fetched"))
    hashes = {
        name: fingerprint(name) for name in ("smollm2", "smollm2-dialog", "smollm2-chat", "mpnet", "nli")
    }
    assert len(set(hashes.values())) == len(hashes)
    assert hashes["nli"] != assets.fingerprint("nli"), "it is also of the model below"
