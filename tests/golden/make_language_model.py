"""Write language_model.json: log-probabilities of replies by transformers, on the weights of the asset.

The argument is the folder of the language model, which `dialoscope assets fetch smollm2` names. A reply's
log-probability is that of context and reply as one text less that of the context alone, both cut by the
model's own tokenizer: the formula of Pang et al. (2020), which Dialoscope does not use. All of it is
computed in double precision.
"""

import sys

import numpy as np
import torch
import transformers
from _shared import load_texts, origin, write

IDS = [f"r{number:02}" for number in (*range(1, 22), 28, 31, 36, 38, 43, 45, 48, 52, 55)]


def main():
    """Write the log-probabilities of all replies in four ways."""
    torch.set_num_threads(1)
    reader = Reader(sys.argv[1])
    texts = {text["id"]: text for text in load_texts()}
    cases = {
        "in context": lambda entry: reader.after(
            "".join(f"{turn}\n" for turn in entry["context"]), entry["response"]
        ),
        "alone": lambda entry: reader.after("", entry["response"]),
        "coherence of the authors": lambda entry: reader.bare_after(
            entry["context"][-1], " " + entry["response"]
        ),
        "fluency of the authors": lambda entry: reader.bare(entry["response"]),
    }
    content = {
        "origin": origin(
            "transformers", "make_language_model.py", date="2026-11-16", torch=torch.__version__
        ),
        "notes": "log-probability and number of tokens; the authors' fluency leaves the first token out",
        "cases": {name: {i: of(texts[i]) for i in IDS} for name, of in cases.items()},
    }
    content["normalised"] = {
        name: dict(zip(IDS, normalised([measure(*found[i]) for i in IDS]), strict=True))
        for name, measure, found in (
            ("coherence", lambda total, tokens: total / tokens, content["cases"]["in context"]),
            ("fluency", lambda total, tokens: total / tokens, content["cases"]["alone"]),
            (
                "coherence:variant=pang-code",
                lambda total, _: total,
                content["cases"]["coherence of the authors"],
            ),
            (
                "fluency:variant=pang-code",
                lambda total, tokens: total / tokens if tokens else None,
                content["cases"]["fluency of the authors"],
            ),
        )
    }
    write("language_model.json", content)


class Reader:
    """A model and its tokenizer as transformers has them."""

    def __init__(self, folder):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
        self.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
        self.start = [self.model.config.bos_token_id]

    def after(self, context, reply):
        """Total and tokens of the reply, a start token before everything."""
        both, before = (self.start + self.ids(text) for text in (context + reply, context))
        return self.total(both) - self.total(before), len(both) - len(before)

    def bare_after(self, context, reply):
        """The same without a start token."""
        both, before = self.ids(context + reply), self.ids(context)
        return self.total(both) - self.total(before), len(both) - len(before)

    def bare(self, reply):
        """Of a text with nothing before it, the tokens but the first."""
        ids = self.ids(reply)
        return self.total(ids), len(ids) - 1

    def ids(self, text):
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def total(self, ids):
        """The log-probability of all tokens but the first."""
        if len(ids) < 2:
            return 0.0
        batch = torch.tensor([ids])
        with torch.no_grad():
            return -self.model(input_ids=batch, labels=batch).loss.item() * (len(ids) - 1)


def normalised(raw):
    """Equation 2 of the paper."""
    floor = np.percentile([value for value in raw if value is not None], 5)
    return [None if value is None else float(-(max(floor, value) - floor) / floor) for value in raw]


if __name__ == "__main__":
    main()
