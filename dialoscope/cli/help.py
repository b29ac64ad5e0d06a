"""The layout of `--help`: verbs in groups, and options without the names of Python types."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

_TYPE = re.compile(r"<(\w+)[^<>]*>(?:\.\.\.)?$")
_METAVARS = {"int": "N", "float": "X", "path": "FILE"}
_RANGES = (
    (re.compile(r"([-\d.]+)<=x<=([-\d.]+)"), r"\1 to \2"),
    (re.compile(r"x>=([-\d.]+)"), r"at least \1"),
    (re.compile(r"x<=([-\d.]+)"), r"at most \1"),
)


class Verb(TyperCommand):
    """A command whose help shows metavars in place of types, and ranges in words."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - click's own, or typer's copy
        """`FILE... [SYSTEM...]` for the line of usage."""
        pieces = (re.sub(r"[{}]", "", piece) for piece in super().collect_usage_pieces(ctx))
        return [re.sub(r"\.\.\.(\]?)\.\.\.$", r"...\1", piece) for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the arguments and the options, those of a group under its heading."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                is_argument = parameter.param_type_name == "argument"
                panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None)
                groups.setdefault(panel or "Options", []).append(_in_words(*record))
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class VerbGroup(TyperGroup):
    """A command whose help lists its verbs under the headings of their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the verbs, each with its summary."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            panel = getattr(command, "rich_help_panel", None)
            heading = panel if isinstance(panel, str) else "Commands"
            summary = command.get_short_help_str(formatter.width)
            panels.setdefault(heading, []).append((name, summary))
        widest = max(len(name) for rows in panels.values() for name, _ in rows)
        for heading, rows in panels.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), summary) for name, summary in rows])


def _in_words(name: str, text: str) -> tuple[str, str]:
    """A row of help with a metavar in place of the type, and the range in words."""
    for pattern, words in _RANGES:
        text = pattern.sub(words, text)
    if not name.startswith("-"):
        return _TYPE.sub("", name).rstrip(), text
    return _TYPE.sub(lambda match: _METAVARS.get(match[1], "TEXT"), name), text
