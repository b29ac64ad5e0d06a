"""Which device computes, how precisely, and what to do when its memory runs out."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar

import torch

from dialoscope.core.errors import BackendError

A = TypeVar("A")
B = TypeVar("B")

torch.backends.cuda.matmul.allow_tf32 = False  # float32 means float32


def chosen_device(name: str) -> torch.device:
    """The device of this name; `auto` is the first GPU, or the processor where there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except Exception as wrong:
        raise BackendError(f"There is no device '{name}' here: {str(wrong).splitlines()[0]}") from wrong
    return device


def torch_dtype(dtype: str) -> torch.dtype:
    """The type of this name."""
    found: torch.dtype = getattr(torch, dtype)
    return found


@cache
def gpu_kernels(device: torch.device) -> ModuleType | None:
    """Our own steps for this device; none on a processor, and none where Triton is not installed."""
    if device.type != "cuda":
        return None
    try:
        return import_module("dialoscope.models.engines.kernels")
    except ImportError:
        return None


def fetched(numbers: torch.Tensor) -> torch.Tensor:
    """The same on the processor: much of it comes several times faster by way of page-locked memory."""
    if numbers.device.type != "cuda":
        return numbers.cpu()
    by_way_of = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    return by_way_of.copy_(numbers).clone()


def out_of_memory(error: BaseException) -> bool:
    """Whether less at once would have worked."""
    if isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def halving(work: Callable[[int], Iterator[B]], budget: int, least: int) -> Iterator[B]:
    """Work with a budget of tokens, and with half of it from where memory ran out.

    `work` must go on where it stopped when it is called again.
    """
    while True:
        try:
            yield from work(budget)
            return
        except Exception as error:
            if not out_of_memory(error):
                raise
            if budget <= least:
                raise BackendError(
                    f"Memory runs out even with {budget} tokens at once. Take a smaller model or window, "
                    "or a device with more memory."
                ) from error
        budget = max(budget // 2, least)
        if torch.cuda.is_available():  # only now, when no error holds on to what filled it
            torch.cuda.empty_cache()
