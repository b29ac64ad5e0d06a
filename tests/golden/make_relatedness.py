"""Write relatedness.json: cosines of replies and the turns before them, as transformers and torch have them.

The argument is the folder of MiniLM, which `dialoscope assets fetch minilm` names. The vector of a text is
the mean over all of its tokens, as the model's makers say; everything is computed in double precision.
"""

import sys

import torch
import transformers
from _shared import load_texts, origin, write


def main():
    """The last turn, and the last two."""
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    model = transformers.AutoModel.from_pretrained(sys.argv[1]).double().eval()

    def vector(text):
        read = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        with torch.no_grad():
            return model(**read).last_hidden_state[0].mean(dim=0)

    def cosine(one, turns):
        said = "\n".join(one["context"][-turns:])
        return torch.cosine_similarity(vector(said), vector(one["response"]), dim=0).item()

    chosen = [one for one in load_texts() if one["response"].strip() and any(one["context"])][:30]
    cases = [
        {"settings": {"turns": turns}, "replies": {one["id"]: cosine(one, turns) for one in chosen}}
        for turns in (1, 2)
    ]
    made = origin("transformers", "make_relatedness.py", date="2026-11-16", torch=torch.__version__)
    write(
        "relatedness.json",
        {"origin": made, "notes": "on the weights that Dialoscope fetches", "cases": cases},
    )


if __name__ == "__main__":
    main()
