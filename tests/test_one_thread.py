"""Functions that scripts call use one thread of BLAS, as commands do, and leave the caller's as they were."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from dualv_logs import SETTINGS, dualv_log
from threadpoolctl import ThreadpoolController

import robodyn_pin as rp
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.search import excite

EXAMPLES = Path(__file__).parents[1] / "examples"


def calibrated():
    run = rp.read_yaml(EXAMPLES / "irb360_calibration.yaml", rp.CalibrationFile)
    return partial(rp.calibrate, run, EXAMPLES)


def excited():
    run = rp.read_yaml(EXAMPLES / "irb360_excite.yaml", ExcitationFile)
    return partial(excite, run.model_copy(update={"random": 2, "starts": 1, "iterations": 1}), EXAMPLES)


def folded():
    robot = rp.load("dualv")
    return partial(rp.fold, robot, SETTINGS, dualv_log(robot, 0, 2.0))


def merged():
    robot = rp.load("dualv")
    return partial(rp.from_evidence, robot, SETTINGS, rp.fold(robot, SETTINGS, dualv_log(robot, 0, 2.0)))


def identified():
    robot = rp.load("dualv")
    return partial(rp.identify, robot, dualv_log(robot, 0, 2.0), dualv_log(robot, 1, 2.0), **SETTINGS)


def planned():
    robot = rp.load("irb2400")
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    path = rp.through(robot.coordinates.names, home + np.outer([0.0, 0.1, 0.3], np.ones(6)), np.zeros(6, bool))
    return partial(rp.fastest, robot, path, rp.planning_limits(robot, {}), points=20)


def strained():
    robot = rp.load("irb360")
    home = robot.motors.S @ robot.home + robot.motors.offset
    t = np.arange(0.0, 0.5, 1e-3)
    motion = home + 0.1 * np.sin(6 * t)[:, None] * np.eye(4)[0]
    return partial(rp.strut_history, robot, rp.Log("arms", t, motion, None, simulated=True), rp.Preparation())


def most(libraries) -> int:
    return max(library["num_threads"] for library in libraries.info() if library["user_api"] == "blas")


@pytest.mark.parametrize("prepared", [calibrated, excited, folded, identified, merged, planned, strained])
def test_functions_of_scripts_use_one_thread(monkeypatch, prepared):
    call = prepared()
    libraries, threads = ThreadpoolController(), list[int]()

    def noted(function):
        def run(*given, **named):
            threads.append(most(libraries))
            return function(*given, **named)

        return run

    for name in ("eigh", "norm", "qr", "solve", "svd"):
        monkeypatch.setattr(np.linalg, name, noted(getattr(np.linalg, name)))
    with libraries.limit(limits=2):
        before = most(libraries)
        threads.clear()
        call()
        assert most(libraries) == before
    assert threads
    assert set(threads) == {1}
