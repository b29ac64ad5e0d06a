"""The style of all figures, their labels, and saving them to files that are always the same.

Nothing here touches pyplot, a display, or the settings of whoever else draws in the same process.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialoscope.core.errors import DialoscopeError, MissingExtra
from dialoscope.core.files import check_file_writable, write_atomically
from dialoscope.core.safe_text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people distinguish as well.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"

_DATES = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
_DOTS_PER_INCH = 200
_MOST_PIXELS = 60_000
"""No side of a picture can have more than 65,535."""

_STYLE: dict[str, Any] = {
    "text.parse_math": False,  # a system may be called $x$
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that every machine draws the same
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.4,
    "svg.fonttype": "none",  # words stay words: they can be searched, and browsers know every script
    "svg.hashsalt": "dialoscope",
    "pdf.fonttype": 42,
    "savefig.facecolor": "white",
}
_OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Noto Sans Devanagari",
    "Noto Sans Arabic",
    "Noto Sans Thai",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
    "PingFang SC",
    "Microsoft YaHei",
    "Nirmala UI",
    "FreeSans",
    "Unifont",
)
"""Fonts with characters that matplotlib's own does not have; where none is installed, a box is drawn."""


def check_file(path: str | Path) -> None:
    """Refuse early a figure that could not be saved, because of its name, its folder, or matplotlib."""
    target = Path(path)
    if target.suffix.lower().removeprefix(".") not in _DATES:
        raise DialoscopeError(
            f"{printable(str(path))} cannot be drawn: the name of a figure ends in .svg, .png or .pdf."
        )
    if not target.parent.is_dir() or target.is_dir():
        what = "there is a folder of that name" if target.is_dir() else "its folder does not exist"
        raise DialoscopeError(f"{printable(str(path))} cannot be written: {what}.")
    try:
        check_file_writable(target)
    except OSError as failed:
        raise DialoscopeError(f"{printable(str(path))} cannot be written: {failed.strerror}.") from failed
    with look():
        pass


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure as SVG, PNG or PDF, by the name's ending; the same figure gives the same bytes."""
    check_file(path)
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    out = io.BytesIO()
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a box is drawn in its place
        _fonts_for_other_scripts(figure)
        dots = min(_DOTS_PER_INCH, _MOST_PIXELS / max(figure.get_size_inches()))
        figure.savefig(out, format=kind, dpi=dots, metadata=_DATES[kind])
    write_atomically(target, [out.getvalue()])
    return target


@contextmanager
def look() -> Iterator[None]:
    """The look of all figures, whatever the user's own settings are; also a decorator."""
    try:
        import matplotlib as mpl
    except ImportError as missing:
        raise MissingExtra("A figure", "matplotlib", "plot") from missing
    usual: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE}
    with mpl.rc_context({name: usual[name] for name in usual if not name.startswith("backend")}):
        yield


def canvas(width: float, height: float, *, layout: str | None = "constrained") -> "Figure":
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout=layout)  # type: ignore[arg-type]


def label(text: str, most: int = 34) -> str:
    """A name from the data as printable text; the middle of a long one is left out."""
    plain = printable(text)
    if len(plain) <= most:
        return plain
    tail = most // 3
    return f"{plain[: most - tail - 1]}…{plain[-tail:]}"


def width_of(texts: "list[str]", size: float = 7) -> float:
    """The approximate width of the longest of these texts in inches."""
    return max((len(text) for text in texts), default=0) * size * 0.6 / 72


def bare(axes: "Axes") -> None:
    """Remove the frame and the ticks."""
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _fonts_for_other_scripts(figure: "Figure") -> None:
    from matplotlib.text import Text

    ours = _characters(_STYLE["font.family"][0])
    for text in figure.findobj(Text):
        assert isinstance(text, Text)  # noqa: S101 - for the type checker
        if not ours.issuperset(map(ord, text.get_text())):
            text.set_fontfamily([*_STYLE["font.family"], *_find_installed_fonts()])


@lru_cache
def _characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(family)).get_charmap())


@lru_cache
def _find_installed_fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return tuple(name for name in _OTHER_SCRIPTS if name in installed)
