"""Command-line options from the fields of recipes: each setting is declared once, in `training.recipes`."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

import typer

from dialoscope.core.errors import DialoscopeError
from dialoscope.training.recipes import GROUPS, Recipe, settings_of

Recipes = Mapping[str, type[Recipe]]
"""Recipes by the names that distinguish them in the help; a single one needs none."""


def with_recipe(
    build: Callable[..., Recipe], recipes: Recipes
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the parameter `recipe` of a command by an option for each setting of some recipes.

    The command is called with what `build` makes of the settings; those that are not on the command line are
    None.
    """
    options = _parameters(recipes)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:  # noqa: ANN401 - values of any type
            settings = {
                option.name: _read(values.pop(option.name), option.name, recipes) for option in options
            }
            command(**values, recipe=build(**settings))

        own = [
            parameter
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name != "recipe"
        ]
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *options)
        ]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameters(recipes: Recipes) -> list[inspect.Parameter]:
    """An option for each setting of any of the recipes, those of a group together."""
    names = dict.fromkeys(name for recipe in recipes.values() for name in settings_of(recipe))
    options = [_parameter(name, recipes) for name in names]
    return sorted(options, key=lambda option: GROUPS.index(option.annotation.__metadata__[0].rich_help_panel))


def _parameter(name: str, recipes: Recipes) -> inspect.Parameter:
    declared = [settings_of(recipe)[name] for recipe in recipes.values() if name in settings_of(recipe)]
    setting = declared[0]
    choices = dict.fromkeys(choice for each in declared for choice in each.choices)
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        help=setting.help + _default(name, recipes),
        metavar=setting.metavar or "|".join(choices) or None,
        rich_help_panel=setting.group,
    )
    value_type = _type(name, recipes)
    annotation = value_type if value_type == list[str] else value_type | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=[] if value_type == list[str] else None,
        annotation=Annotated[annotation, option],
    )


def _field(name: str, recipes: Recipes) -> "dataclasses.Field[Any]":
    """The field of the first recipe that has it."""
    fields = (item for recipe in recipes.values() for item in dataclasses.fields(recipe))
    return next(item for item in fields if item.name == name)


def _type(name: str, recipes: Recipes) -> Any:  # noqa: ANN401 - a type, or a generic alias
    """The type that typer reads: numbers and texts, and lists of texts for tuples."""
    declared = _field(name, recipes).type
    if get_origin(declared) is tuple:
        return list[str]
    return declared if declared in (int, float) else str


def _default(name: str, recipes: Recipes) -> str:
    """The default as the help shows it, of each recipe where they differ."""
    fields = {
        label: item
        for label, recipe in recipes.items()
        for item in dataclasses.fields(recipe)
        if item.name == name
    }
    defaults = {label: _format_value(item.default).replace(",", ", ") for label, item in fields.items()}
    different = set(defaults.values())
    if not any(different):  # an empty text
        return ""
    if len(different) == 1 and len(defaults) == len(recipes):
        return f"  [default: {different.pop()}]"
    return f"  [default: {'; '.join(f'{label}: {text}' for label, text in defaults.items())}]"


def _format_value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read(value: Any, name: str, recipes: Recipes) -> Any:  # noqa: ANN401 - a value of any type
    """The setting from a value of the command line; tuples are written with commas."""
    if not isinstance(value, list):
        return value
    item = _field(name, recipes)
    parts = [part.strip() for text in value for part in text.split(",")]
    try:
        return tuple(map(get_args(item.type)[0], parts)) or None
    except ValueError as error:
        option = f"--{name.replace('_', '-')}"
        raise DialoscopeError(
            f"{option} {','.join(value)} is not understood; write {option} {_format_value(item.default)}."
        ) from error
