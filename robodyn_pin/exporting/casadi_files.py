"""The functions as CasADi's own files, for those who optimise with them: CasADi differentiates them, loops and all."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import casadi

from robodyn_pin.exporting.c_files import Written, identifier
from robodyn_pin.exporting.closed_twin import twin_of
from robodyn_pin.exporting.functions import function_of
from robodyn_pin.files import prepare_folder, write_whole
from robodyn_pin.robot.robot import Robot


def write_casadi(robot: Robot, functions: Sequence[str], folder: Path) -> Written:
    """Write functions of a robot as NAME_FUNCTION.casadi, for `casadi.Function.load`; raises as `write_c`.

    Inputs: joint positions to start closing from, coordinates, and where they count their rates and accelerations; outputs: joint
    positions, how far the loops are from closed, the function's own, and the clearance from singular poses, 1 at home, 0 there.
    """
    twin = twin_of(robot)
    found = {name: function_of(twin, name) for name in functions}
    prepare_folder(folder)
    for name, function in found.items():
        write_whole(folder / f"{identifier(robot.name)}_{name}.casadi", partial(_save, function))
    return Written(folder, tuple(functions), {name: f.n_instructions() for name, f in found.items()})


def _save(function: casadi.Function, path: Path) -> None:
    function.save(str(path))
