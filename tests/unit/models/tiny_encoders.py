"""Small random encoders and classifiers of many architectures, saved as anybody saves a model."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests.unit.models.tiny import SENTENCES, save_quietly, stir

LIMIT = 60
"""Tokens that each of these models can read."""


class Architecture(NamedTuple):
    """Which classes of transformers, with which settings, and whose kind of tokenizer."""

    classes: str
    tokenizer: str
    settings: dict[str, Any]


_SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": LIMIT,
}
_ROBERTA = {**_SHAPE, "max_position_embeddings": LIMIT + 2, "type_vocab_size": 1}
_NUMBERS = {
    "bert": {"pad_token_id": 0},
    "roberta": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    "xlnet": {"bos_token_id": 1, "pad_token_id": 5, "eos_token_id": 2},
}

ARCHITECTURES = {
    "bert": Architecture("Bert", "bert", _SHAPE),
    "bert-relu": Architecture("Bert", "bert", {**_SHAPE, "hidden_act": "relu"}),
    "roberta": Architecture("Roberta", "roberta", _ROBERTA),
    "xlm-roberta": Architecture("XLMRoberta", "roberta", _ROBERTA),
    "electra": Architecture("Electra", "bert", {**_SHAPE, "embedding_size": 32}),
    "electra-small": Architecture("Electra", "bert", {**_SHAPE, "embedding_size": 16}),
    "distilbert": Architecture(
        "DistilBert",
        "bert",
        {"dim": 32, "hidden_dim": 48, "n_layers": 3, "n_heads": 4, "max_position_embeddings": LIMIT},
    ),
    "albert": Architecture("Albert", "bert", {**_SHAPE, "embedding_size": 16}),
    "albert-groups": Architecture(
        "Albert",
        "bert",
        {**_SHAPE, "embedding_size": 16, "num_hidden_layers": 4, "num_hidden_groups": 2},
    ),
    "mpnet": Architecture("MPNet", "roberta", {**_SHAPE, "max_position_embeddings": LIMIT + 2}),
    "modernbert": Architecture(
        "ModernBert", "bert", {**_SHAPE, "local_attention": 8, "cls_token_id": 2, "sep_token_id": 3}
    ),
    "xlnet": Architecture(
        "XLNet", "xlnet", {"d_model": 32, "d_inner": 48, "n_layer": 3, "n_head": 4, "d_head": 8}
    ),
}
PLAIN = {"bert", "roberta", "xlm-roberta", "electra"}
"""Those of the form that is computed without transformers."""


def save_encoder(name: str, folder: Path, kind: str = "Model", **settings: object) -> Path:
    """A model of this architecture with its tokenizer; the same weights each time."""
    architecture = ARCHITECTURES[name]
    size = save_tokenizer(architecture.tokenizer, folder)
    config = getattr(transformers, f"{architecture.classes}Config")(
        vocab_size=size, **{**_NUMBERS[architecture.tokenizer], **architecture.settings, **settings}
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{architecture.classes}{kind}")(config)
    stir(model)
    save_quietly(model, folder)
    return folder


def save_classifier(name: str, folder: Path, **settings: object) -> Path:
    """The same with a head that rates classes."""
    return save_encoder(name, folder, "ForSequenceClassification", **settings)


def save_tokenizer(kind: str, folder: Path) -> int:
    """A vocabulary learned from a few sentences; how many tokens it has."""
    tokenizer = {"bert": _word_pieces, "roberta": _byte_pairs, "xlnet": _unigrams}[kind]()
    names = _SPECIAL[kind]
    whole = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=names["pad"],
        cls_token=names["cls"],
        sep_token=names["sep"],
        unk_token=names["unk"],
        padding_side="left" if kind == "xlnet" else "right",
        model_max_length=LIMIT,
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if kind != "roberta" else [])],
    )
    whole.save_pretrained(folder)
    return len(whole)


_SPECIAL = {
    "bert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"},
    "roberta": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>"},
    "xlnet": {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "cls": "<cls>", "sep": "<sep>", "pad": "<pad>"},
}


def _word_pieces() -> Tokenizer:
    special = list(_SPECIAL["bert"].values())
    tokenizer = Tokenizer(models.WordPiece(unk_token=special[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, special.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _byte_pairs() -> Tokenizer:
    special = list(_SPECIAL["roberta"].values())
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def _unigrams() -> Tokenizer:
    special = list(_SPECIAL["xlnet"].values())
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=special, unk_token=special[0], show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <sep> <cls>:2",
        pair="$A <sep> $B:1 <sep>:1 <cls>:2",
        special_tokens=[(name, special.index(name)) for name in ("<sep>", "<cls>")],
    )
    return tokenizer
