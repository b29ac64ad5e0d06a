"""Read a GGUF file: its metadata, and its tensors as 32-bit numbers.

The format is llama.cpp's (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Only the three kinds of
tensors are read that the registered file has.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.errors import AssetError

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_ALIGNMENT = 32
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


class Place(NamedTuple):
    """Where a tensor lies in the file, and how it is written there."""

    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class Gguf:
    """What a GGUF file holds; tensors are read when asked for."""

    metadata: Mapping[str, Any]
    places: Mapping[str, Place]
    data: Bytes

    def tensor(self, name: str) -> Floats:
        """A tensor by its name, unpacked; rows first, as numpy has it."""
        place = self.places[name]
        if place.kind not in _KINDS:
            raise AssetError(f"The tensor {name} is packed in a way that cannot be read (kind {place.kind}).")
        kind = _KINDS[place.kind]
        size = int(np.prod(place.shape)) // kind.numbers * kind.width
        blocks = self.data[place.offset : place.offset + size].reshape(-1, kind.width)
        return kind.unpack(blocks).reshape(place.shape)


def read(path: Path) -> Gguf:
    """Open a GGUF file; its tensors stay on disk until they are asked for."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    cursor = _Cursor(data)
    if cursor.take(4) != b"GGUF":
        raise AssetError(f"{path} is no GGUF file.")
    if (version := cursor.number("I")) != 3:
        raise AssetError(f"{path} is written in version {version} of GGUF; version 3 can be read.")
    tensors, entries = cursor.number("Q"), cursor.number("Q")
    metadata = {cursor.text(): cursor.value(cursor.number("I")) for _ in range(entries)}
    places = {cursor.text(): cursor.tensor_place() for _ in range(tensors)}
    start = -(-cursor.at // _ALIGNMENT) * _ALIGNMENT
    return Gguf(MappingProxyType(metadata), MappingProxyType(places), data[start:])


class _Cursor:
    """Reads one thing after the other."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def number(self, code: str) -> Any:  # noqa: ANN401 - an integer, a fraction or a truth value
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        return self.take(self.number("Q")).decode("utf-8")

    def value(self, kind: int) -> Any:  # noqa: ANN401 - whatever stands there
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            return self.number(_NUMBERS[kind])
        inner, count = self.number("I"), self.number("Q")
        return [self.value(inner) for _ in range(count)]

    def tensor_place(self) -> Place:
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return Place(shape[::-1], self.number("I"), self.number("Q"))


def _plain(blocks: Bytes) -> Floats:
    return blocks.view("<f4").astype(np.float32)


def _four_bits(blocks: Bytes) -> Floats:
    """Q4_1: scale and least value as halves, then 32 numbers of four bits, low halves of bytes first."""
    scale, least = (blocks[:, at : at + 2].copy().view("<f2").astype(np.float32) for at in (0, 2))
    packed = blocks[:, 4:]
    return np.concatenate((packed & 15, packed >> 4), axis=1).astype(np.float32) * scale + least


def _eight_bits(blocks: Bytes) -> Floats:
    """Q8_0: a scale as a half, then 32 signed bytes."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return blocks[:, 2:].copy().view(np.int8).astype(np.float32) * scale


class _Kind(NamedTuple):
    """A way of packing numbers: how many stand in a block, how long it is, how it is unpacked."""

    numbers: int
    width: int
    unpack: Callable[[Bytes], Floats]


_KINDS = MappingProxyType(
    {0: _Kind(1, 4, _plain), 3: _Kind(32, 20, _four_bits), 8: _Kind(32, 34, _eight_bits)}
)
