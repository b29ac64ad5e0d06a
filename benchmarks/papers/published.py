"""What Xiang et al. (2021) print in tables 3, 4 and 5; correlations are absolute values there."""

from typing import NamedTuple

PERSONA_M, DAILY_H, CONVAI2, EMPATHETIC, DAILY_Z, PERSONA_Z = CORPORA = (
    "Persona(M)",
    "Daily(H)",
    "Convai2",
    "Empathetic",
    "Daily(Z)",
    "Persona(Z)",
)
ASPECTS = ("relevance", "grammar", "content", "overall")


class Agreement(NamedTuple):
    """How a metric's order of systems, and its distances between them, agree with people's."""

    spearman: float
    pearson: float


class Normal(NamedTuple):
    """Mean and standard deviation over dimensions of the p-values of Shapiro and Wilk's test."""

    mean: float
    deviation: float


_TABLE_3 = """
BLEU        .400 .672 .445 .444 .800 .801 .136 .331 .595 .421 .400 .390
METEOR      .800 .860 .018 .050 .800 .767 .382 .133 .643 .689 .700 .936
ROUGE-L     .600 .289 .545 .417 .200 .061 .391 .472 .738 .725 .400 .915
Greedy      .600 .260 .855 .764 .600 .794 .736 .864 .690 .726 .100 .835
Average     .800 .863 .209 .209 .600 .879 .664 .725 .548 .769 .300 .861
Extrema     .600 .435 .745 .761 .800 .766 .618 .722 .595 .746 .500 .834
BERTScore-B .800 .590 .137 .082 .800 .817 .300 .077 .857 .883 .900 .961
BERTScore-R .800 .517 .855 .857 .800 .939 .600 .697 .714 .860 .700 .918
FBD-B       1.00 .853 .564 .717 .800 .854 .427 .623 .786 .763 .400 .923
FBD-R       1.00 .802 .891 .926 .800 .747 .864 .951 .929 .963 1.00 .860
PRD-B       .800 .637 .221 .409 1.00 .972 .227 .399 .690 .914 .900 .984
PRD-R       .800 .660 .591 .578 1.00 .913 .545 .583 .762 .906 .900 .932
"""

_TABLE_4 = """
BERT    .57 .44 .65 .39 .60 .42 .65 .39 .67 .38 .65 .38
RoBERTa .71 .38 .68 .37 .73 .34 .68 .37 .68 .37 .71 .33
"""

_TABLE_5 = """
BLEU        .857 .454 .167 .213 .143 .270 .595 .421
METEOR      .810 .736 .119 .044 .024 .349 .643 .689
ROUGE-L     .857 .758 .238 .075 .190 .375 .738 .725
Greedy      .881 .769 .214 .133 .119 .350 .690 .726
Average     .762 .808 .071 .197 .238 .399 .548 .769
Extrema     .714 .776 .143 .009 .476 .539 .595 .746
BERTScore-B .976 .908 .333 .111 .524 .593 .857 .883
BERTScore-R .857 .889 .119 .115 .310 .604 .714 .860
FBD-B       .762 .790 .190 .203 .667 .404 .786 .763
FBD-R       .976 .965 .429 .472 .524 .839 .929 .963
PRD-B       .833 .932 .238 .156 .571 .708 .690 .914
PRD-R       .881 .925 .238 .235 .452 .729 .762 .906
"""


def _rows(table: str) -> dict[str, list[tuple[float, float]]]:
    """The pairs of numbers in each line, by its first word."""
    lines = [line.split() for line in table.strip().splitlines()]
    numbers = {head: [float(one) for one in rest] for head, *rest in lines}
    return {head: list(zip(some[::2], some[1::2], strict=True)) for head, some in numbers.items()}


TABLE_3 = {
    (metric, corpus): Agreement(*pair)
    for metric, pairs in _rows(_TABLE_3).items()
    for corpus, pair in zip(CORPORA, pairs, strict=True)
}
TABLE_4 = {
    (encoder, corpus): Normal(*pair)
    for encoder, pairs in _rows(_TABLE_4).items()
    for corpus, pair in zip(CORPORA, pairs, strict=True)
}
TABLE_5 = {
    (metric, aspect): Agreement(*pair)
    for metric, pairs in _rows(_TABLE_5).items()
    for aspect, pair in zip(ASPECTS, pairs, strict=True)
}
