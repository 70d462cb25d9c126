"""Memory that was freed goes back to the system, where its C library can."""

import ctypes
import subprocess
import sys

import pytest

HOLDS_THE_END = """
from robodyn_pin.storage.freed_memory import give_back

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

blocks = [bytearray(50_000) for _ in range(2000)]
last = bytearray(50_000)
del blocks
before = held()
give_back()
print(before - held())
"""


def test_freed_memory_goes_back_although_something_behind_it_is_held():
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("this C library gives memory back by itself or not at all")
    done = subprocess.run([sys.executable, "-P", "-c", HOLDS_THE_END], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50e6


def test_a_c_library_that_cannot_is_left_alone(monkeypatch):
    from robodyn_pin.storage.freed_memory import give_back

    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back()
