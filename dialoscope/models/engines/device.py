"""Devices, precision, and smaller batches when memory runs out."""

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


def choose_device(name: str) -> torch.device:
    """Return the device of this name; `auto` is the first GPU, or the CPU if there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except Exception as wrong:
        raise BackendError(f"There is no device '{name}' here: {str(wrong).splitlines()[0]}") from wrong
    return device


def torch_dtype(dtype: str) -> torch.dtype:
    """Return the dtype of this name."""
    value: torch.dtype = getattr(torch, dtype)
    return value


@cache
def gpu_kernels(device: torch.device) -> ModuleType | None:
    """Return the Triton kernels, or None on a CPU or if Triton is not installed."""
    if device.type != "cuda":
        return None
    try:
        return import_module("dialoscope.models.engines.kernels")
    except ImportError:
        return None


def copy_to_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor on the CPU; large ones are copied several times faster by page-locked memory."""
    if tensor.device.type != "cuda":
        return tensor.cpu()
    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return pinned.copy_(tensor).clone()


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory has run out."""
    if isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def halving(work: Callable[[int], Iterator[B]], budget: int, least: int) -> Iterator[B]:
    """Yield the results of `work` with a budget of tokens, which is halved whenever memory runs out.

    When `work` is called again, it must continue where it stopped.
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
        if torch.cuda.is_available():  # only here, since the error holds references to tensors
            torch.cuda.empty_cache()
