"""Write rouge_w.json: ROUGE-W as Lin (2004) defines it and as ROUGE-1.5.5 computes it, from 0 to 1.

No maintained library has ROUGE-W. The numbers come from the plain implementation below, which must first meet
the published values in EXAMPLES; it was written from the paper's formulas and from what the Perl script does.
"""

import re
from collections import Counter
from itertools import product
from pathlib import Path

from _shared import load_texts, origin, write

NOTES = [
    "Tokens are the runs of [a-z0-9] in text.lower(). ROUGE-1.5.5 itself lower-cases ASCII letters only, "
    "so that the Kelvin sign (r51) is a space to it and a k here.",
    "paper: with f(k) = k**weight, m tokens in the reference and n in the reply, "
    "recall = (WLCS / f(m)) ** (1 / weight), precision = (WLCS / f(n)) ** (1 / weight), F with beta = 1. "
    "references 'first': the first only. 'best': the reference of greatest F, the first of equals.",
    "rouge-1.5.5: the matched positions of the reference are marked by walking back through the WLCS table, "
    "and hits = the sum of f(run) over the runs of marked positions in the reference, whether or not "
    "the matches are neighbours in the reply. base = the sum of f(length) over the units (sentences) "
    "of the reference. recall = (sum of hits / sum of f(base)) ** (1 / weight): the base is weighted twice. "
    "precision = (sum of hits / sum of f(all tokens of the reply)) ** (1 / weight). The sums run over the "
    "references ('average', its -f A, the default), or hold one reference only ('best', its -f B): "
    "that of greatest (hits / base) ** (1 / weight), the first of equals.",
    "units 'text': each text is one unit. units 'lines': each line that is not empty (its SPL format).",
    "ROUGE-1.5.5 prints five decimals and computes F from the rounded precision and recall; "
    "here nothing is rounded.",
    "An empty reply has 0, as ROUGE-1.5.5 prints. A reference without tokens divides by zero in both "
    "definitions (the Perl script stops): null, for 'best' of the paper only where no reference has tokens.",
]
SOURCE = "no library: the plain implementation in the script, checked against the published examples"
LIN = "Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 4"
KNOWN = (
    "known values of both definitions; the pair is ours, 12 tokens each with matched runs of 5, 2, 1 and 1"
)
PERL = "output of the Perl script in github.com/tagucci/pythonrouge/issues/14"
TWELVE = (
    "we could meet again on monday if your train comes early enough",
    "we could meet again on tuesday if your bus comes late enough",
)
FIVE = ("a b c d e", "a b c d e")
EXAMPLES = [
    ("paper", 2.0, "A B C D E F G", "A B C D H I K", {"wlcs": 16, "fmeasure": 0.571}, LIN),
    ("paper", 2.0, "A B C D E F G", "A H B K C I D", {"wlcs": 4, "fmeasure": 0.286}, LIN),
    ("paper", 1.2, *TWELVE, {"recall": 0.624, "precision": 0.624, "fmeasure": 0.624}, KNOWN),
    ("rouge-1.5.5", 1.2, *TWELVE, {"recall": 0.379, "precision": 0.624, "fmeasure": 0.472}, KNOWN),
    ("rouge-1.5.5", 1.2, *FIVE, {"recall": 0.72478, "precision": 1.0, "fmeasure": 0.84043}, PERL),
    ("rouge-1.5.5", 1.0, *FIVE, {"recall": 1.0, "precision": 1.0, "fmeasure": 1.0}, PERL),
    # From here on nothing is published: the two definitions part where matches are apart in the reply ...
    ("rouge-1.5.5", 2.0, "A B C D E F G", "A H B K C I D", {}, None),
    ("rouge-1.5.5", 1.2, "A H B K C I D", "A B C D E F G", {}, None),
    # ... and texts of several units join their matches, clip words counted twice and weigh units apart.
    ("rouge-1.5.5", 1.2, "the boat left\nthe crew stayed", "the boat left and the crew stayed", {}, None),
    ("rouge-1.5.5", 1.2, "the boat left and the crew stayed", "the boat left\nthe crew stayed", {}, None),
    ("rouge-1.5.5", 1.2, "red green blue\nred green blue", "red green blue", {}, None),
    ("rouge-1.5.5", 1.2, "blue\nred green blue grey gold pink", "red green blue black\ngold pink", {}, None),
    ("rouge-1.5.5", 1.2, "one two three four five", "five four\nthree two one\n\none three five", {}, None),
]
MEASURES = ["recall", "precision", "fmeasure"]


def tokens(text):
    """The runs of ASCII letters and digits, lower-cased."""
    return re.findall("[a-z0-9]+", text.lower())


def units_of(text, units):
    """The token lists of a text: one for the whole, or one for each line."""
    if units == "text":
        return [tokens(text)]
    return [tokens(line) for line in text.split("\n") if line]


def wlcs_table(reference, reply, weight):
    """Lin's table: cell [i][j] is the WLCS of the first i tokens of the reference and j of the reply."""
    table = [[0.0] * (len(reply) + 1) for _ in range(len(reference) + 1)]
    runs = [[0] * (len(reply) + 1) for _ in range(len(reference) + 1)]
    for i, expected in enumerate(reference, 1):
        for j, word in enumerate(reply, 1):
            if expected == word:
                run = runs[i - 1][j - 1]
                table[i][j] = table[i - 1][j - 1] + (run + 1) ** weight - run**weight
                runs[i][j] = run + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table


def matched(reference, reply, weight):
    """Positions of the reference on the path that ROUGE-1.5.5 walks back: up before left if both tie."""
    table = wlcs_table(reference, reply, weight)
    i, j, positions = len(reference), len(reply), set()
    while i and j:
        if reference[i - 1] == reply[j - 1]:
            i, j = i - 1, j - 1
            positions.add(i)
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return positions


def hits_and_base(reference, reply, weight):
    """ROUGE-1.5.5's weighted hits and once-weighted length of a reference, both texts given as units."""
    left = Counter(word for unit in reference for word in unit)
    left_in_reply = Counter(word for unit in reply for word in unit)
    hits = base = 0.0
    for unit in reference:
        base += len(unit) ** weight
        marked = set().union(*(matched(unit, words, weight) for words in reply))
        run = 0
        for position in sorted(marked):
            word = unit[position]
            if not (left[word] and left_in_reply[word]):
                continue  # a word already counted elsewhere: the run before it stays open, as in the script
            run += 1
            left[word] -= 1
            left_in_reply[word] -= 1
            if position + 1 not in marked:
                hits += run**weight
                run = 0
    return hits, base


def ratios(hits, recall_base, precision_base, weight):
    """Recall, precision and F of weighted counts."""
    recall = (hits / recall_base) ** (1 / weight)
    precision = (hits / precision_base) ** (1 / weight) if precision_base else 0.0
    total = recall + precision
    return {
        "recall": recall,
        "precision": precision,
        "fmeasure": 2 * recall * precision / total if total else 0.0,
    }


def paper(references, reply, weight, _units="text"):
    """Lin's ROUGE-W with the best of the references; None where none has tokens."""
    words = tokens(reply)
    scores = []
    for expected in filter(None, map(tokens, references)):
        wlcs = wlcs_table(expected, words, weight)[-1][-1]
        scores.append({"wlcs": wlcs, **ratios(wlcs, len(expected) ** weight, len(words) ** weight, weight)})
    return max(scores, key=lambda s: s["fmeasure"], default=None)


def perl(references, reply, weight, units="text", choice="average"):
    """ROUGE-1.5.5's ROUGE-W; None where a reference has no tokens, which stops the script."""
    words = units_of(reply, units)
    counts = [hits_and_base(units_of(r, units), words, weight) for r in references]
    if not all(base for _, base in counts):
        return None
    if choice == "best":
        counts = [max(counts, key=lambda c: (c[0] / c[1]) ** (1 / weight))]
    hits = sum(h for h, _ in counts)
    length = sum(map(len, words))
    return ratios(hits, sum(b**weight for _, b in counts), len(counts) * length**weight, weight)


def cases():
    """Both definitions over all texts."""
    kinds = [("paper", "first", "text"), ("paper", "best", "text")]
    kinds += [("rouge-1.5.5", c, u) for c, u in product(["first", "average", "best"], ["text", "lines"])]
    for (definition, choice, units), weight in product(kinds, [1.2, 2.0]):
        replies = {}
        for t in load_texts():
            references = t["references"][:1] if choice == "first" else t["references"]
            if definition == "paper":
                replies[t["id"]] = paper(references, t["response"], weight)
            else:
                replies[t["id"]] = perl(references, t["response"], weight, units, choice)
        for measure in MEASURES:
            settings = {"definition": definition, "weight": weight, "measure": measure}
            yield {
                "settings": {**settings, "references": choice, "units": units},
                "system": None,
                "replies": {i: s and s[measure] for i, s in replies.items()},
            }


def examples():
    """The worked examples, each checked against what is published."""
    for definition, weight, reference, response, published, source in EXAMPLES:
        computed = (paper if definition == "paper" else perl)([reference], response, weight, "lines")
        for name, value in published.items():
            if abs(computed[name] - value) > 0.0005:
                raise ValueError(f"{definition} {name}: {computed[name]}, published {value}")
        yield {
            "definition": definition,
            "weight": weight,
            "reference": reference,
            "response": response,
            "units": "lines",
            "computed": computed,
            "published": published,
            "tolerance": 0.0005,
            "source": source,
        }


if __name__ == "__main__":
    generator = origin(None, Path(__file__).name, source=SOURCE)
    write(
        "rouge_w.json",
        {"origin": generator, "notes": NOTES, "examples": list(examples()), "cases": list(cases())},
    )
