"""Log-probabilities of replies with the default language model, against the usual loop, in one run.

    python benchmarks/language_model.py [--all] [--device cuda] [--dtype bfloat16] [--quick]

The replies are those of the rated corpora (DIALOSCOPE_CORPORA) in which several systems answer the same
contexts; on a processor a fixed sample of whole contexts with about 500 replies, unless --all is given. The
loop is the way perplexity is usually computed with transformers: batches of 16 in the order of the file,
padded, logits of every token. Ours goes through the public backend with an empty score cache. Both start from
strings; the mean log-probabilities must be equal. With --quick the replies are four of the sample.

Useful work: 2 x parameters outside the embedding x unique tokens + 2 x embedding x scored tokens. The
machine's own rate is that of its matrix products at the shapes of the model, measured in the same run.
"""

import json
import os
import sys
import tempfile
import time
from argparse import Namespace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks._shared import SAMPLE, benchmark_parser, corpora_folder, fastest, peak_memory
from dialoscope.models import cache, registry
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Continuation

RATED = ("zhao2020/*.jsonl", "grade/*.jsonl", "usr_personachat/data.jsonl")
REPLIES, QUICK_REPLIES = 500, 4
BATCH = 16


class Bars(NamedTuple):
    """The required ratio to the loop, and the required rate of useful work."""

    speed: float
    rate: float
    unit: str


BARS = {
    "cpu": Bars(4.0, 0.65, "of the machine's matrix-product rate"),
    "cuda": Bars(25.0, 75.0, "TFLOP/s useful"),
}
# In float32 ours is within 1e-5 of float64; the cross entropy of the loop, over transposed logits as is
# usual, loses up to 2e-4.
TOLERANCES = {"float32": 5e-4, "bfloat16": 0.25, "float16": 0.05}


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument(
        "--replies", type=int, default=REPLIES, help="approximate number of replies on a processor"
    )
    parser.add_argument("--all", action="store_true", help="every reply, also on a processor")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="", help="bfloat16 on a GPU, float32 on a processor")
    parser.add_argument("--rounds", type=int, default=0, help="number of rounds of ours; the fastest counts")
    parser.add_argument("--without-peer", action="store_true")
    chosen = parser.parse_args()
    files = [SAMPLE] if chosen.quick else rated_files()
    os.environ["DIALOSCOPE_ASSETS"] = str(registry.locate("smollm2").parent)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["DIALOSCOPE_CACHE"] = empty  # the score cache of the benchmark alone
        measure(chosen, replies(files))


def measure(chosen: Namespace, texts: list[Continuation]) -> None:
    """Time both sides and compare their results."""
    if chosen.quick:
        texts, chosen.rounds = texts[:QUICK_REPLIES], 1
    elif chosen.device == "cpu" and not chosen.all:
        texts = sample(texts, chosen.replies)
    lm = TransformerLanguageModel(
        "smollm2",
        dtype=chosen.dtype or ("bfloat16" if chosen.device == "cuda" else "float32"),
        device=chosen.device,
    )
    work = useful_work(lm, texts)
    print(f"{len(texts)} replies, {work.unique:,} unique tokens, {work.scored:,} scored tokens; {lm.dtype}")
    machine = 0.0 if chosen.quick else matrix_rate(chosen.device, lm.dtype)
    rounds = chosen.rounds or (5 if chosen.device == "cuda" else 2)
    if not chosen.quick:
        lm.log_probabilities(texts[:64])  # loaded and warm
    ours, seconds = fastest(lambda: lm.log_probabilities(texts), rounds, cache.clear_cache)
    memory = peak_memory()
    rate = work.operations / seconds
    print(f"ours: {seconds:.2f} s, {len(texts) / seconds:,.1f} replies/s, {rate / 1e9:,.0f} GFLOP/s useful")
    if not chosen.quick:
        machine = max(machine, matrix_rate(chosen.device, lm.dtype))  # whichever moment was the calmer
        print(f"matrix products: {machine / 1e9:,.0f} GFLOP/s; ours reaches {rate / machine:.0%} of them")
    print(f"peak memory: {memory:.2f} GB resident" + on_gpu(chosen.device))
    if chosen.without_peer:
        return
    theirs, their_seconds = run_loop(lm, texts, chosen.device, warm_up=not chosen.quick)
    difference = max(abs(values.mean() - mean) for values, mean in zip(ours, theirs, strict=True))
    print(f"loop: {their_seconds:.2f} s, {len(texts) / their_seconds:,.1f} replies/s")
    print(f"largest difference of a mean log-probability: {difference:.2g}")
    tolerance = TOLERANCES[lm.dtype]
    if chosen.quick:
        print(f"largest difference {difference:.2g}, bar {tolerance:g}")
        sys.exit(bool(difference > tolerance))
    print_conclusion(chosen.device, their_seconds / seconds, rate, machine, bool(difference <= tolerance))


def print_conclusion(device: str, speed: float, rate: float, machine: float, equal: bool) -> None:
    """Print the last line and end the program."""
    bars = BARS["cuda" if device.startswith("cuda") else "cpu"]
    reached = rate / machine if bars.rate < 1 else rate / 1e12
    ok = speed >= bars.speed and reached >= bars.rate and equal
    work = f"{reached:.0%} (bar {bars.rate:.0%})" if bars.rate < 1 else f"{reached:.0f} (bar {bars.rate:.0f})"
    line = f"{speed:.1f}x the loop (bar {bars.speed:g}x), {work} {bars.unit}"
    print(f"{line}{'' if equal else '; the scores DIFFER'}: {'ok' if ok else 'short'}")
    sys.exit(not ok)


def rated_files() -> list[Path]:
    """Return the files of the rated corpora in which several systems answer the same contexts."""
    rated = corpora_folder() / "rated"
    return [file for pattern in RATED for file in sorted(rated.glob(pattern))]


def replies(files: list[Path]) -> list[Continuation]:
    """Return every reply after its context, a line for each turn."""
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [Continuation("".join(f"{turn}\n" for turn in row["context"]), row["response"]) for row in rows]


def sample(texts: list[Continuation], count: int) -> list[Continuation]:
    """Return whole contexts with about so many replies, in an order that depends on the data alone."""
    by_context: dict[str, list[Continuation]] = {}
    for text in texts:
        by_context.setdefault(text.prefix, []).append(text)
    chosen: list[Continuation] = []
    for context in sorted(by_context, key=lambda context: blake2b(context.encode()).digest()):
        if len(chosen) < count:
            chosen += by_context[context]
    return chosen


class Work(NamedTuple):
    """Numbers of tokens and of floating-point operations."""

    unique: int
    scored: int
    operations: float


def useful_work(lm: TransformerLanguageModel, texts: list[Continuation]) -> Work:
    """Return the work that is left when nothing is computed twice."""
    words = lm._engine.words
    pairs = list(dict.fromkeys(texts))
    contexts = sum(map(len, words.encode(list(dict.fromkeys(text.prefix for text in pairs)))))
    scored = sum(map(len, words.encode([text.text for text in pairs])))
    config = lm._engine.config
    embedding = config["vocab_size"] * config["hidden_size"]
    outside = sum(part.numel() for layer in lm._engine.decoder.layers for part in layer)
    unique = contexts + scored
    return Work(unique, scored, 2.0 * outside * unique + 2.0 * embedding * scored)


@torch.inference_mode()
def run_loop(
    lm: TransformerLanguageModel, texts: list[Continuation], device: str, *, warm_up: bool
) -> tuple[list[float], float]:
    """Return the means and the seconds of the usual loop: float32, padded batches in order, all logits."""
    from transformers import AutoModelForCausalLM

    engine = lm._engine
    model = AutoModelForCausalLM.from_pretrained(engine.model.folder, dtype=torch.float32).to(device).eval()
    all_means: list[float] = []
    for warm in (True, False) if warm_up else (False,):
        begin = time.perf_counter()
        for start in range(0, BATCH if warm else len(texts), BATCH):
            batch = texts[start : start + BATCH]
            prefixes = [
                (*engine.start, *tokens) for tokens in engine.words.encode([text.prefix for text in batch])
            ]
            tokens = engine.words.encode([text.text for text in batch])
            rows = [prefix + text for prefix, text in zip(prefixes, tokens, strict=True)]
            longest = max(map(len, rows))
            ids = torch.tensor([list(row) + [0] * (longest - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
            ids, mask = ids.to(device), mask.to(device)
            logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            scored = torch.zeros_like(mask[:, 1:])
            for row, (prefix, text) in enumerate(zip(prefixes, tokens, strict=True)):
                scored[row, len(prefix) - 1 : len(prefix) + len(text) - 1] = 1
            means = -(losses * scored).sum(1) / scored.sum(1)
            all_means += [] if warm else means.tolist()
    return all_means, time.perf_counter() - begin


@torch.inference_mode()
def matrix_rate(device: str, dtype: str) -> float:
    """Return the operations per second of the matrix products of one layer and the head alone."""
    rows = 32768 if device.startswith("cuda") else 1024
    kind = getattr(torch, dtype)
    shapes = [(rows, 576, 960), (rows, 576, 576), (rows, 576, 3072), (rows, 1536, 576)] * 30
    matrices = {
        shape: (
            torch.randn(shape[0], shape[1], device=device, dtype=kind),
            torch.randn(shape[2], shape[1], device=device, dtype=kind),
        )
        for shape in dict.fromkeys(shapes)
    }
    best = 0.0
    for _ in range(6):
        wait(device)
        begin = time.perf_counter()
        for shape in shapes:
            torch.nn.functional.linear(*matrices[shape])
        wait(device)
        best = max(best, sum(2.0 * a * b * c for a, b, c in shapes) / (time.perf_counter() - begin))
    return best


def wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def on_gpu(device: str) -> str:
    return (
        f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GB on the GPU"
        if device.startswith("cuda")
        else ""
    )


if __name__ == "__main__":
    main()
