"""The verb `assets` and what can be done with them."""

from typing import Annotated

import typer

from dialoscope.assets.registry import ASSETS, SUITES
from dialoscope.cli import screen
from dialoscope.cli.options import AsJson

_TOTAL = sum(asset.size for asset in ASSETS.values())

Suite = Annotated[
    str | None,
    typer.Option(
        metavar="SUITE",
        help="All of a suite: " + "; ".join(f"{name}, {about}" for name, about in SUITES.items()) + ".",
    ),
]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names from the list.")]

assets = typer.Typer(invoke_without_command=True, rich_markup_mode=None, add_completion=False)


@assets.callback()
def listing(context: typer.Context, json: AsJson = False) -> None:
    """List models and data: whether they are here, size, licence; or fetch, verify, remove them."""
    if context.invoked_subcommand is None:
        from dialoscope.assets import catalogue

        screen.show(catalogue.as_json() if json else catalogue.as_text())


@assets.command()
def fetch(
    names: Names = [],
    suite: Suite = None,
    all: Annotated[bool, typer.Option("--all", help=f"All there are ({_TOTAL / 1e9:.1f} GB).")] = False,
) -> None:
    """Fetch assets, so that later runs need no network."""
    from dialoscope import assets as store
    from dialoscope.errors import AssetError

    chosen = [*names, *(store.suite(suite) if suite else []), *(store.ASSETS if all else [])]
    if not chosen:
        raise AssetError(
            "Nothing to fetch was named. Name assets (`dialoscope assets` lists them), or --suite, or --all."
        )
    for name, folder in zip(chosen, store.fetch(chosen), strict=True):
        screen.show(f"{name}: {folder}")


@assets.command()
def verify(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names from the list; all that are there if none."),
    ] = [],
) -> None:
    """Hash every file of assets and compare with what they should be."""
    from dialoscope.assets import catalogue

    verdict = catalogue.verdict(names)
    if verdict.sound:
        screen.show("\n".join(verdict.sound))
    if verdict.damaged:
        screen.complain("\n".join(verdict.damaged))
        raise typer.Exit(1)


@assets.command()
def remove(names: Names) -> None:
    """Remove assets from the cache."""
    from dialoscope import assets as store

    removed = store.remove(names)
    for name in names:
        screen.show(f"{name}: removed" if name in removed else f"{name}: was not in the cache")


@assets.command()
def path(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from the list.")],
) -> None:
    """Print the folder of an asset, fetching it first where needed."""
    from dialoscope import assets as store

    screen.show(str(store.locate(name)))
