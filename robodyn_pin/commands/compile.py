"""Compile the kernels before they are needed."""

import time

from robodyn_pin.commands.options import JsonOption, answer


def compile_command(as_json: JsonOption = False) -> None:
    """Compile the kernels of the extra 'fast' now, so that the first identification need not wait: less than half a minute, once on a machine.

    Those of `simulate --controller` are not among them: its first run compiles them, which takes as long.

    Example: robodyn compile
    """
    start = time.perf_counter()
    from robodyn_pin.dynamics.compile_kernels import compile_kernels

    compile_kernels()
    answer(as_json, {"seconds": time.perf_counter() - start}, _print_compiled, time.perf_counter() - start)


def _print_compiled(seconds: float) -> None:
    print(
        f"compiled in {seconds:.0f} s; commands and scripts load these kernels from now on (the first run of 'simulate --controller' compiles its own)"
    )
