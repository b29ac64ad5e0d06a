"""Write nltk_meteor.json: METEOR by NLTK on Treebank tokens, with the WordNet that Dialoscope fetches."""

import json
import shutil
import tempfile
from pathlib import Path

import nltk.data
from _shared import HERE, load_texts, origin, write
from nltk.corpus import wordnet
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.translate.meteor_score import meteor_score

from dialoscope.models.registry import locate

TOKENIZERS = {"treebank": NLTKWordTokenizer().tokenize, "split": str.split}
PARAMETERS = ({}, {"alpha": 0.5, "beta": 1.0, "gamma": 0.3})


def case(tokenizer, parameters):
    """The score of each reply; NLTK has none for a corpus."""
    tokens = TOKENIZERS[tokenizer]
    meteor_texts = json.loads((HERE / "meteor_texts.json").read_text(encoding="utf-8"))
    return {
        "settings": {"tokenizer": tokenizer, "parameters": parameters},
        "system": None,
        "replies": {
            text["id"]: meteor_score(
                [tokens(reference) for reference in text["references"]],
                tokens(text["response"]),
                **parameters,
            )
            for text in [*meteor_texts, *load_texts()]
        },
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(locate("wordnet"), Path(folder) / "corpora" / "wordnet")
        nltk.data.path.insert(0, folder)  # where NLTK looks for it
        wordnet.ensure_loaded()
        cases = [case(tokenizer, parameters) for tokenizer in TOKENIZERS for parameters in PARAMETERS]
    write("nltk_meteor.json", {"origin": origin("nltk", Path(__file__).name), "cases": cases})
