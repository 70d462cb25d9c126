"""Kernels compiled before they are needed: all but those of a simulation's steps."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread

import numpy as np

from robodyn_pin.closures.bends import bends
from robodyn_pin.closures.closing import close
from robodyn_pin.closures.kernel_choice import FEW, chosen, forced, kernel, none_of_loops_are_kept
from robodyn_pin.closures.variations import varied
from robodyn_pin.dynamics.body_slopes import body_effort_slopes, body_regressor_slopes
from robodyn_pin.dynamics.regressor import body_regressor, state_regressor
from robodyn_pin.dynamics.rigid_loads import body_efforts
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.robot.robot import Robot, State, load
from robodyn_pin.robot.stops import run_stops
from robodyn_pin.workers import cores, each, working

Part = Callable[[Robot, State], None]

SAMPLES = 8
ROBOTS = ("irb360", "dualv", "irb2400")  # with rods, with pins, without loops
PROCESSES = 2  # more compile the same functions more often, and are no faster


@contextmanager
def compiling_for_logs() -> Iterator[None]:
    """Let two processes compile what logs need, where nothing is kept yet, while a `with` block goes on; its end waits for them.

    They take two thirds of the time that this one would take as it goes, which it does where they fail, or on one core.
    """
    if cores() < PROCESSES or not (chosen(FEW) and none_of_loops_are_kept()):
        yield
        return
    with forced("kernel"):
        kernel()  # says how long it takes
    found_here = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with ExitStack() as ending:
        processes = []
        for part in (_projection, _rows):
            code = f"import {__name__} as here; here.use_for_another({part.__name__!r})"
            command = [sys.executable or "", "-P", "-c", code]
            with suppress(OSError):  # no process can be started
                process = Popen(command, env=found_here, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
                processes.append(ending.enter_context(process))
                ending.callback(process.kill)
        with forced("pinocchio"):
            yield
        for process in processes:
            process.wait()


def use_for_another(part: str) -> None:
    """Use the kernels of a part for the process that started this one, and end where that one ends, which closes our standard input."""

    def end_as_well() -> None:
        os.read(0, 1)
        os._exit(1)

    Thread(target=end_as_well, daemon=True).start()
    _use(globals()[part])


def compile_kernels(processes: int | None = None) -> None:
    """Use each kernel once, by processes; numba keeps what it compiles.

    Args:
        processes: default: two, where there are so many cores.

    Raises:
        RobodynError: numba is missing, or there is no folder to keep what it compiles.
    """
    with forced("kernel"):
        kernel()  # says how long it takes: other processes are silent
    with working(processes or min(PROCESSES, cores())):
        each(_use, (_slopes, _projection, _rows, _others))  # the longest first


def _use(part: Part) -> None:
    for name in ROBOTS:
        with forced("pinocchio"):
            robot = load(name)
            c = robot.coordinates.S @ robot.home + robot.coordinates.offset + np.zeros((SAMPLES, 1))
            state = robot.close(c, 0 * c, 0 * c)
        with forced("kernel"):
            part(robot, state)


def _projection(robot: Robot, state: State) -> None:
    standing = np.zeros((SAMPLES, len(robot.coordinates.names)))
    robot.state(state.q, standing, standing)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    close(robot.loops, S, offset, state.q @ S.T + offset, robot.home)
    Lowpass(order=1, cutoff=1.0).apply(np.zeros((10, 1)), 10.0, "")


def _rows(robot: Robot, state: State) -> None:
    state_regressor(robot, state)
    body_efforts(robot, state)
    robot.loops.evaluate(state.q, state.v)  # forces need these, which have most in common with those
    robot.loops.placed(state.q).motions(state.v)


def _slopes(robot: Robot, state: State) -> None:
    q, v, a, T = state.q, state.v, state.a, state.T
    found = bends(robot.loops, robot.coordinates.S, q, v, a, T)
    body_effort_slopes(robot, state, found)
    body_regressor_slopes(robot, state, found, 10 * len(robot.body_groups))
    varied(robot.loops.placed(q), v, a, T, found.v, found.a)


def _others(robot: Robot, state: State) -> None:
    body_regressor(robot, state.q, state.v, state.a)
    still = np.zeros((SAMPLES, 1))
    run_stops(still, np.ones(1), still[0], still[0])
