"""Replies that occur twice."""

from bisect import bisect_right

from dialoscope.core.records import Example
from dialoscope.data.layout import Row
from dialoscope.data.problems import BadRow


class DuplicateCheck:
    """The replies read so far, with the position of each.

    A million replies must fit into little memory, so each is stored as two integers: the hash of its id and
    system, and its line counted through all files. Two different replies share one of 2**64 hashes in about
    three of a hundred million readings of that size.
    """

    def __init__(self) -> None:
        self._positions: dict[int, int] = {}
        self._files: list[str] = []
        self._starts: list[int] = []
        self._end = 0

    def start_file(self, file: str) -> None:
        """Begin the next file."""
        self._files.append(file)
        self._starts.append(self._end)

    def admit(self, row: Row, line: int) -> Row | BadRow:
        """Return the row itself, or the problem that its reply has occurred before."""
        position = self._end = self._starts[-1] + line
        example = row.example
        first = self._positions.setdefault(hash((example.id, example.system)), position)
        return row if first == position else self._problem(example, first)

    def _problem(self, example: Example, first: int) -> BadRow:
        file = bisect_right(self._starts, first - 1) - 1
        return BadRow(
            f"a second reply with id {example.id!r} and system {example.system!r}, "
            f"after {self._files[file]}:{first - self._starts[file]}; give each reply of a system its "
            "own id, and each system its own name (respond --name)"
        )
