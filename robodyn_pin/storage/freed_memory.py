"""Memory that the C library keeps although nobody uses it any more."""

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Give it back to the system, where the C library can: glibc does so by itself only at the end of what it holds."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
