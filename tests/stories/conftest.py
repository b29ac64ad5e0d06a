"""What every story needs."""

import sys

import pytest

from dialoscope.cli import main


@pytest.fixture
def cli(monkeypatch, capsys):
    """The command in this process, through its real entry point."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dialoscope", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return call
