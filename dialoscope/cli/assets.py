"""The verb `assets` and what can be done with them."""

from typing import Annotated

import typer

from dialoscope.cli import screen
from dialoscope.cli.options import AsJson
from dialoscope.models.registry.entries import ASSETS, SUITES

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
        from dialoscope.models.registry import asset_table

        screen.show(asset_table.as_json() if json else asset_table.as_text(screen.width()))


@assets.command()
def fetch(
    names: Names = [],
    suite: Suite = None,
    all: Annotated[bool, typer.Option("--all", help=f"All there are ({_TOTAL / 1e9:.1f} GB).")] = False,
) -> None:
    """Fetch assets, so that later runs need no network."""
    from dialoscope.core.errors import AssetError
    from dialoscope.models import registry

    chosen = [*names, *(registry.suite(suite) if suite else []), *(registry.ASSETS if all else [])]
    if not chosen:
        raise AssetError(
            "Nothing to fetch was named. Name assets (`dialoscope assets` lists them), or --suite, or --all."
        )
    for name, folder in zip(chosen, registry.fetch(chosen), strict=True):
        screen.show(f"{name}: {folder}")


@assets.command()
def verify(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names from the list; all that are there if none."),
    ] = [],
) -> None:
    """Hash every file of assets and compare with what they should be."""
    from dialoscope.models.registry import asset_table

    verdict = asset_table.verdict(names)
    if verdict.sound:
        screen.show("\n".join(verdict.sound))
    if verdict.damaged:
        screen.complain("\n".join(verdict.damaged))
        raise typer.Exit(1)


@assets.command()
def remove(names: Names) -> None:
    """Remove assets from the cache."""
    from dialoscope.models import registry

    removed = registry.remove(names)
    for name in names:
        screen.show(f"{name}: removed" if name in removed else f"{name}: was not in the cache")


@assets.command()
def path(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from the list.")],
) -> None:
    """Print the folder of an asset, fetching it first where needed."""
    from dialoscope.models import registry

    screen.show(str(registry.locate(name)))
