"""What was found, in the forms people read and programs take on."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

from dialoscope.core.safe_text import listed_in_markdown

Reason = TypeVar("Reason", bound=Hashable)
Thing = TypeVar("Thing", bound=Hashable)


class Report:
    """Something that is shown as text, Markdown, CSV or JSON."""

    def printed(self, form: str = "text", *, signatures: bool = False) -> str:
        """As text, markdown, csv or json; what a reader must know is not put into what is piped on."""
        text = {"markdown": self.markdown, "csv": self.csv, "json": self.json}.get(form, self.text)()
        if not signatures or form in ("csv", "json"):
            return text
        lines = self.signatures()
        return "\n".join([text, *(listed_in_markdown(lines) if form == "markdown" else lines)])

    def text(self) -> str:
        """For a terminal or a mail."""
        raise NotImplementedError

    def markdown(self) -> str:
        """For a README or an issue."""
        raise NotImplementedError

    def csv(self) -> str:
        """For a spreadsheet or a plot."""
        raise NotImplementedError

    def json(self) -> str:
        """For a program."""
        raise NotImplementedError

    def signatures(self) -> list[str]:
        """How each number was made; nothing where that is not asked of it."""
        return []

    def __str__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        return self.markdown()


def gathered(pairs: Iterable[tuple[Reason, Thing]]) -> dict[Reason, list[Thing]]:
    """What stands second, each once, by what stands first: what has one reason is told together."""
    found: dict[Reason, dict[Thing, None]] = {}
    for reason, thing in pairs:
        found.setdefault(reason, {})[thing] = None
    return {reason: list(things) for reason, things in found.items()}
