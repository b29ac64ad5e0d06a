"""The verb `assets` and its own verbs."""

from typing import Annotated

import typer

from dialoscope.cli import screen
from dialoscope.cli.help import Verb
from dialoscope.cli.options import AsJson
from dialoscope.models.registry.entries import ASSETS, SUITES

_TOTAL = sum(asset.size for asset in ASSETS.values())

Suite = Annotated[
    str | None,
    typer.Option(
        metavar="SUITE",
        help="Suite of assets: " + "; ".join(f"{name}, {about}" for name, about in SUITES.items()) + ".",
    ),
]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Assets, by their names in the list.")]

assets = typer.Typer(invoke_without_command=True, rich_markup_mode=None, add_completion=False)


@assets.callback()
def listing(context: typer.Context, json: AsJson = False) -> None:
    """List, fetch, check or remove models and data sets."""
    if context.invoked_subcommand is None:
        from dialoscope.models.registry import asset_table

        screen.show(asset_table.as_json() if json else asset_table.as_text(screen.width()))


@assets.command(cls=Verb)
def fetch(
    names: Names = [],
    suite: Suite = None,
    all: Annotated[bool, typer.Option("--all", help=f"Fetch every asset ({_TOTAL / 1e9:.1f} GB).")] = False,
) -> None:
    """Fetch assets, so that later runs need no network."""
    from dialoscope.core.errors import AssetError
    from dialoscope.models import registry

    wanted = [*names, *(registry.suite(suite) if suite else []), *(registry.ASSETS if all else [])]
    if not wanted:
        raise AssetError(
            "Nothing to fetch was named. Name assets (`dialoscope assets` lists them), or --suite, or --all."
        )
    for name, folder in zip(wanted, registry.fetch(wanted), strict=True):
        screen.show(f"{name}: {folder}")


@assets.command(cls=Verb)
def verify(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Assets to check; all in the cache by default."),
    ] = [],
) -> None:
    """Check every file of assets against its hash."""
    from dialoscope.models.registry import asset_table

    verification = asset_table.verify_assets(names)
    if verification.valid:
        screen.show("\n".join(verification.valid))
    if verification.damaged:
        screen.complain("\n".join(verification.damaged))
        raise typer.Exit(1)


@assets.command(cls=Verb)
def remove(names: Names) -> None:
    """Remove assets from the cache."""
    from dialoscope.models import registry

    removed = registry.remove(names)
    for name in names:
        screen.show(f"{name}: removed" if name in removed else f"{name}: was not in the cache")


@assets.command(cls=Verb)
def path(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Asset, by its name in the list.")],
) -> None:
    """Print the folder of an asset, fetching it if needed."""
    from dialoscope.models import registry

    screen.show(str(registry.locate(name)))
