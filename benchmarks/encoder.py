"""Token vectors for BERTScore with the default encoder, against bert-score 0.3.13, on the same pairs.

    pip install --no-deps bert-score==0.3.13
    python benchmarks/encoder.py [--device cuda] [--dtype bfloat16] [--peer FOLDER] [--model FOLDER]
        [--quick]

Both sides have the same weights, start from strings in memory and end with precision, recall and F of each
pair, which must be equal: ours is `TransformerEncoder.encode_tokens` and the matching of the metric
`bertscore`, theirs the function that all of bert-score's entries call. The pairs are the rated ones with
references of the rated corpora (DIALOSCOPE_CORPORA), or synthetic ones of the same lengths. Rounds of the two
alternate, and the fastest of each counts.

In a padded batch bert-score takes a padded place for a token with cosine 0, so that a token which is like
none of the other side gets 0 instead of something below; pairs that differ by this are scored by it again,
each alone, where nothing is padded, and compared with that.

Useful work: 2 x parameters of the layers x tokens of unique texts; what attention computes is not counted.
The machine's own rate is that of its matrix products at the shapes of the model, measured in the same run.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple, NoReturn

import numpy as np
import torch
from lexical import Pair, load_pairs  # the benchmark beside this one

from benchmarks._shared import benchmark_parser, fail, peak_memory, skip
from dialoscope.metrics.shared.matching import Couple, TokenMatches, compute_matches, scores
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.locations import model_folder

BARS = {"cpu": 1.6, "cuda": 8.0}
MOST_MEMORY = 1.5
"""GB resident on a processor, of which half is torch itself."""
NEAR = {"float32": 1e-4, "bfloat16": 1e-2, "float16": 1e-2}
DOUBTFUL = 1e-5


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="", help="of ours; float16 on a GPU, float32 on a processor")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--peer", default="", help="a folder that holds the package bert_score")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peer", action="store_true")
    chosen = parser.parse_args()
    if not chosen.without_peer:
        find_peer(chosen.peer, skip if chosen.quick else fail)
    kind = torch.device(chosen.device).type
    encoder = TransformerEncoder(
        chosen.model, device=chosen.device, dtype=chosen.dtype or ("float32" if kind == "cpu" else "float16")
    )
    pairs, origin = load_pairs()
    if chosen.quick:
        pairs, chosen.rounds = pairs[:40], 1
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    print(f"{len(pairs)} pairs, {origin}; {len(texts)} unique texts; {chosen.model}, {encoder.dtype}, {kind}")
    encoder.encode_tokens(texts[:64])  # loaded and warm
    ours = [timed(lambda: our_scores(encoder, pairs))]
    memory = peak_memory()
    peer = None if chosen.without_peer else Peer(encoder, chosen.peer)
    theirs: list[Round] = []
    if peer:
        peer.scores(pairs[:128])  # warm
    for _ in range(chosen.rounds):
        theirs += [timed(lambda: peer.scores(pairs))] if peer else []
        ours.append(timed(lambda: our_scores(encoder, pairs)))
    if not chosen.quick:
        report(encoder, pairs, texts, min(seconds for seconds, _ in ours), memory)
    if peer:
        finish(encoder, pairs, peer, ours, theirs, memory, quick=chosen.quick)


class Round(NamedTuple):
    """One run over all pairs."""

    seconds: float
    scores: np.ndarray  # (pairs, 3): precision, recall, F


def timed(work: Callable[[], np.ndarray]) -> Round:
    begin = time.perf_counter()
    found = work()
    return Round(time.perf_counter() - begin, found)


def report(
    encoder: TransformerEncoder, pairs: list[Pair], texts: list[str], seconds: float, memory: float
) -> None:
    """What the machine can do, and what of it was reached."""
    begin = time.perf_counter()
    tokens = sum(len(found.ids) for found in encoder.encode_tokens(texts))
    encoding = time.perf_counter() - begin
    config = encoder._engine.config
    size, wide = config["hidden_size"], config["intermediate_size"]
    work = 2.0 * config["num_hidden_layers"] * (4 * size * size + 2 * size * wide) * tokens
    machine = matrix_rate(encoder, size, wide)
    print(f"{tokens:,} tokens of unique texts, {work / 1e12:.2f} TFLOP in the matrix products of the layers")
    print(f"ours: {seconds:.2f} s, {len(pairs) / seconds:,.0f} pairs/s; encoding alone {encoding:.2f} s")
    print(
        f"matrix products: {machine / 1e9:,.0f} GFLOP/s; ours from strings to scores reaches "
        f"{work / seconds / machine:.0%} of them"
    )
    gpu = f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GB on the GPU" if on_gpu(encoder) else ""
    print(f"peak memory of ours: {memory:.2f} GB resident{gpu}")


def finish(
    encoder: TransformerEncoder,
    pairs: list[Pair],
    peer: "Peer",
    ours: list[Round],
    theirs: list[Round],
    memory: float,
    *,
    quick: bool,
) -> None:
    """The last line, and the exit code."""
    ours, theirs = min(ours, key=lambda one: one.seconds), min(theirs, key=lambda one: one.seconds)
    apart = np.abs(ours.scores - theirs.scores).max(axis=1)
    again = np.flatnonzero(apart > DOUBTFUL)
    alone = peer.scores_alone([pairs[place] for place in again])
    apart[again] = np.abs(ours.scores[again] - alone).max(axis=1)
    apart = float(apart.max())
    equal = apart <= NEAR[encoder.dtype]
    ratio, bar = theirs.seconds / ours.seconds, BARS["cuda" if on_gpu(encoder) else "cpu"]
    fits = on_gpu(encoder) or memory <= MOST_MEMORY
    print(f"bert-score: {theirs.seconds:.2f} s, {len(pairs) / theirs.seconds:,.0f} pairs/s")
    print(f"{len(again)} pairs differ from it by more than {DOUBTFUL:g} and are compared each alone")
    print(f"largest difference of a score: {apart:.1e} (must be below {NEAR[encoder.dtype]:g})")
    good = (ratio >= bar or quick) and equal and fits
    problems = ("" if equal else "; the scores DIFFER") + ("" if fits else "; too much memory")
    print(f"{ratio:.2f}x bert-score (bar {bar:g}x){problems}: {'ok' if good else 'short'}")
    sys.exit(not good)


def on_gpu(encoder: TransformerEncoder) -> bool:
    return encoder.device.startswith("cuda")


def our_scores(encoder: TransformerEncoder, pairs: list[Pair]) -> np.ndarray:
    """As the metric works them out, without looking into the score cache or writing to it."""
    couples = [Couple("", ""), *(Couple(*pair) for pair in pairs)]  # the first shows the tokens around a text
    found = dict(compute_matches(encoder, couples, range(len(couples))))
    matches = TokenMatches.of([found[place] for place in range(len(couples))])
    special = matches.ids[: matches.lengths[0]]
    return np.stack(scores(matches, special, np.ones(len(matches.ids))), axis=1)[1:]


class Peer:
    """bert-score with the weights that ours has."""

    def __init__(self, encoder: TransformerEncoder, folder: str) -> None:
        self._theirs = peer_functions(folder)
        self._device = encoder.device
        weights = str(model_folder(encoder.model))
        self._tokenizer = self._theirs.get_tokenizer(weights)
        layers = encoder._engine.config["num_hidden_layers"]
        self._model = self._theirs.get_model(weights, layers).float().to(encoder.device)
        special = {self._tokenizer.sep_token_id: 0.0, self._tokenizer.cls_token_id: 0.0}
        self._weights = defaultdict(
            lambda: 1.0, special
        )  # as its scorer makes them where no IDF is asked for

    def scores(self, pairs: list[Pair], at_once: int = 64) -> np.ndarray:
        """By its own function, with its own size of a batch."""
        return self._theirs.bert_cos_score_idf(
            self._model,
            [pair.reference for pair in pairs],
            [pair.reply for pair in pairs],
            self._tokenizer,
            self._weights,
            batch_size=at_once,
            device=self._device,
        ).numpy()

    def scores_alone(self, pairs: list[Pair]) -> np.ndarray:
        """Without anything beside a pair."""
        return np.concatenate([np.zeros((0, 3)), *(self.scores([pair], 1) for pair in pairs)])


def find_peer(folder: str, end: Callable[[str], NoReturn] = fail) -> ModuleSpec:
    """Return the location of bert-score; without it the program ends."""
    sys.path[:0] = [folder] if folder and folder not in sys.path else []
    return find_spec("bert_score") or end(
        "bert-score is missing. Install it with: pip install --no-deps bert-score==0.3.13"
    )


def peer_functions(folder: str) -> ModuleType:
    """Its module of functions; the package would import matplotlib, for pictures that are not made here."""
    found = find_peer(folder)
    package = ModuleType("bert_score")
    package.__path__, package.__version__ = list(found.submodule_search_locations), "0.3.13"
    sys.modules["bert_score"] = package
    import bert_score.utils
    from transformers.utils import logging

    logging.disable_progress_bar()
    return bert_score.utils


@torch.inference_mode()
def matrix_rate(encoder: TransformerEncoder, size: int, wide: int) -> float:
    """Floating-point operations a second in the matrix products of one layer, nothing else."""
    rows = encoder._engine.budget
    made = [
        (torch.randn(rows, inner), torch.randn(outer, inner))
        for inner, outer in ((size, 3 * size), (size, size), (size, wide), (wide, size))
    ]
    made = [tuple(part.to(encoder.device, getattr(torch, encoder.dtype)) for part in pair) for pair in made]
    best = 0.0
    for _ in range(6):
        wait(encoder)
        begin = time.perf_counter()
        for inputs, weights in made * 12:
            torch.nn.functional.linear(inputs, weights)
        wait(encoder)
        done = sum(2.0 * inputs.numel() * len(weights) for inputs, weights in made * 12)
        best = max(best, done / (time.perf_counter() - begin))
    return best


def wait(encoder: TransformerEncoder) -> None:
    if on_gpu(encoder):
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
