"""Made-up replies with ratings that follow from how much of the reference is in them."""

WORDS = (
    "apple",
    "bread",
    "cider",
    "dates",
    "eggs",
    "figs",
    "grapes",
    "honey",
    "ice",
    "jam",
    "kale",
    "lemon",
    "mango",
    "nuts",
    "olives",
    "pears",
    "quince",
    "rice",
    "salt",
    "tea",
)


def rows(contexts=24, systems=("good", "fair", "poor"), scale=1.0, **more):
    """Replies of several systems to some contexts; the better a system, the more words of the reference."""
    found = []
    for place in range(contexts):
        words = [WORDS[(place * step + step) % len(WORDS)] for step in (1, 3, 7, 9)]
        other = [WORDS[(place * 5 + step) % len(WORDS)] for step in range(4)]
        for rank, system in enumerate(systems):
            same = 4 - (rank + place) % 5
            found.append(
                {
                    "id": f"c{place}",
                    "system": system,
                    "context": ["Well?", f"Do we have {words[0]} and {words[1]}, {place}?"],
                    "response": " ".join([*words[:same], *other[same:], system[0]]),
                    "references": [" ".join(words)],
                    "ratings": {"Overall": [scale * (1 + same), scale * (1 + max(same - 1, 0))]},
                    **more,
                }
            )
    return found
