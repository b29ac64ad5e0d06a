"""Write relatedness.json: cosines of replies and the turns before them, by transformers and torch.

The argument is the folder of MiniLM, which `dialoscope assets fetch minilm` names. The vector of a text is
the mean over all of its tokens, as the model's makers say; everything is computed in double precision.
"""

import sys

import torch
import transformers
from _shared import load_texts, origin, write


def main():
    """Write the cosines with the last turn and with the last two."""
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    model = transformers.AutoModel.from_pretrained(sys.argv[1]).double().eval()

    def vector(text):
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        with torch.no_grad():
            return model(**inputs).last_hidden_state[0].mean(dim=0)

    def cosine(entry, turns):
        context = "\n".join(entry["context"][-turns:])
        return torch.cosine_similarity(vector(context), vector(entry["response"]), dim=0).item()

    entries = [entry for entry in load_texts() if entry["response"].strip() and any(entry["context"])][:30]
    cases = [
        {"settings": {"turns": turns}, "replies": {entry["id"]: cosine(entry, turns) for entry in entries}}
        for turns in (1, 2)
    ]
    source = origin("transformers", "make_relatedness.py", date="2026-11-16", torch=torch.__version__)
    write(
        "relatedness.json",
        {"origin": source, "notes": "on the weights that Dialoscope fetches", "cases": cases},
    )


if __name__ == "__main__":
    main()
