"""Functions of all golden generators: the texts, the corpora made of them, and one way to write a file."""

import json
import platform
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
DATE = "2026-11-15"
INVISIBLE = "\u00a0\u00ad\u200b\u200c\u200d\ufe0f\u2028"  # written as escapes, so that no editor loses them


def load_texts():
    """The replies of texts.json, in order."""
    return json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


def corpora():
    """Named lists of reply ids: the corpora that system scores are made over."""
    texts = load_texts()
    return {
        "all": [t["id"] for t in texts],
        "one-reference": [t["id"] for t in texts if len(t["references"]) == 1],
        "several-references": [t["id"] for t in texts if len(t["references"]) > 1],
        "plain": ["r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10"],
        "two": ["r01", "r03"],
        "no-fourgram-match": ["r11", "r12", "r13", "r14"],
        "no-match": ["r15", "r16"],
        "short": ["r17", "r18", "r19", "r20", "r21"],
        "empty-replies": ["r22", "r23"],
    }


def pick(name):
    """The texts of one named corpus."""
    by_id = {t["id"]: t for t in load_texts()}
    return [by_id[i] for i in corpora()[name]]


def origin(library, script, **more):
    """Where the numbers of a file come from."""
    return {
        "library": library,
        "version": version(library) if library else None,
        "python": platform.python_version(),
        "date": DATE,
        "script": script,
        **more,
    }


def write(name, content):
    """Write one golden file; the same content always gives the same bytes."""
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    for character in INVISIBLE:
        text = text.replace(character, f"\\u{ord(character):04x}")
    (HERE / name).write_text(text + "\n", encoding="utf-8")
