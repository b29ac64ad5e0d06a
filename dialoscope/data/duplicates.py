"""Replies that are given twice."""

from bisect import bisect_right

from dialoscope.core.records import Example
from dialoscope.data.layout import Row
from dialoscope.data.problems import BadRow


class Seen:
    """The replies met so far, with the place of each.

    A million replies must fit into little memory, so each is kept as two integers: the hash of its id and
    system, and its line counted through all files. Two different replies share one of 2**64 hashes in about
    three of a hundred million readings of that size.
    """

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._files: list[str] = []
        self._starts: list[int] = []
        self._end = 0

    def enter(self, file: str) -> None:
        """Go on to the next file."""
        self._files.append(file)
        self._starts.append(self._end)

    def admit(self, row: Row, line: int) -> Row | BadRow:
        """The row itself, or the complaint that its reply has been met before."""
        place = self._end = self._starts[-1] + line
        example = row.example
        first = self._places.setdefault(hash((example.id, example.system)), place)
        return row if first == place else self._complaint(example, first)

    def _complaint(self, example: Example, first: int) -> BadRow:
        file = bisect_right(self._starts, first - 1) - 1
        return BadRow(
            f"a second reply with id {example.id!r} and system {example.system!r}, "
            f"after {self._files[file]}:{first - self._starts[file]}; give each reply of a system its "
            "own id, and each system its own name (respond --name)"
        )
