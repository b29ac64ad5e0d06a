import pytest

from dialoscope.analysis.comparison.ordering import order_systems


def letters(values, apart, higher_is_better=True):
    found = order_systems("m", values, apart, higher_is_better)
    return [(place.system, place.letters) for place in found.places]


def test_systems_that_are_not_surely_different_share_a_letter():
    values = {"p": 1.0, "q": 3.0, "r": 2.0, "s": 0.0}
    assert letters(values, []) == [("q", "a"), ("r", "a"), ("p", "a"), ("s", "a")]
    apart = [("q", "p"), ("q", "s"), ("r", "s")]
    assert letters(values, apart) == [("q", "a"), ("r", "ab"), ("p", "bc"), ("s", "c")]
    every = [(one, other) for one in values for other in values if one < other]
    assert letters(values, every) == [("q", "a"), ("r", "b"), ("p", "c"), ("s", "d")]


def test_a_difference_that_jumps_over_a_neighbour():
    """The ends are not surely different, though the middle differs from both."""
    assert letters({"x": 3.0, "y": 2.0, "z": 1.0}, [("x", "y"), ("y", "z")]) == [
        ("x", "a"),
        ("y", "b"),
        ("z", "a"),
    ]


def test_letters_say_neither_more_nor_less_than_the_pairs():
    values = {str(place): float(place) for place in range(7)}
    apart = [(a, b) for a in values for b in values if int(b) - int(a) in (2, 3, 6)]
    found = dict(letters(values, apart))
    for a in values:
        for b in values:
            if a < b:
                assert bool(set(found[a]) & set(found[b])) == ((a, b) not in apart)


def test_the_best_comes_first():
    assert [name for name, _ in letters({"x": 1.0, "y": 2.0}, [], higher_is_better=False)] == ["x", "y"]
    assert [name for name, _ in letters({"x": 1.0, "y": 2.0}, [], higher_is_better=None)] == ["y", "x"]


@pytest.mark.parametrize("order", [["x", "y", "z"], ["z", "x", "y"]], ids="".join)
def test_the_order_systems_are_named_in_does_not_show(order):
    values = {name: {"x": 1.0, "y": 1.0, "z": 2.0}[name] for name in order}
    assert letters(values, [("x", "z")]) == letters({"x": 1.0, "y": 1.0, "z": 2.0}, [("x", "z")])
