"""The DualV and its payload as the studies see them: motions, simulated logs, rows along some coordinates, the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
from simulated import fold_seeds

from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.fold import Factor, weighted
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.validation import pooled
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.rows import add, filtered, fold_log, observe
from robodyn_pin.log_to_robot.run import execute, read_run
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.payload import LoadSpec, carrying, loaded
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.shapes import shape
from robodyn_pin.simulation.simulated_log import Noise, simulate

EXAMPLES = Path(__file__).parents[1] / "examples"
DUALV, RUN = load("dualv"), read_run(EXAMPLES / "dualv.yaml")
PRINTED = RUN.model_copy(update={"noise": "coordinates"})  # IDIM-WLS: noise constant along each coordinate
BODY = read_yaml(EXAMPLES / "dualv_payload_body.yaml", LoadSpec)
FIT = ("dualv_empty_motion", "dualv_loaded_motion")
CASES = {"case 1": ("x", "y", "phi"), "case 2": ("m1", "m2", "m3")}
# Parameters by the columns that stand for them, and what the paper printed: case 1, case 2.
TABLE_2 = {
    "Izz(proximal_1)": ("zz_11R", 0.0445, 0.0412), "Izz(proximal_2)": ("zz_12R", 0.0481, 0.0462),
    "Izz(proximal_3)": ("zz_13R", 0.0481, 0.0457), "Izz(proximal_4)": ("zz_14R", 0.0507, 0.0579),
    "Izz(platform)": ("zz_4", 0.0206, 0.0205), "m(platform)": ("m_4", 1.92, 1.96),
    "Izz(payload)": ("zz_5", 0.0161, 0.0164), "mx(payload)": ("mx_5", -0.127, -0.127), "m(payload)": ("m_5", 5.42, 5.52),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """The robot with its payload's columns, torques projected onto some coordinates."""

    robot: Robot

    @classmethod
    def along(cls, names: tuple[str, ...]) -> "Case":
        return cls(carrying(DUALV.with_coordinates(names), "payload", "platform"))

    @property
    def labels(self) -> list[str]:
        return columns(self.robot).layout.labels

    @property
    def nine(self) -> np.ndarray:
        return np.array([self.labels.index(name) for name in TABLE_2])

    @property
    def truth(self) -> np.ndarray:
        x = columns(self.robot).values.copy()
        x[self.robot.payload_columns] = shape(BODY)
        return x

    def rows(self, logs: Sequence[Log], run: RunFile = RUN) -> list[Factor]:
        """One factor per coordinate, decimated and weighed as the run file says."""
        folded = [fold_log(self.robot, log, run.preparation, [fitted_rows(self.robot, run, log)])[0] for log in logs]
        return pooled(reduce(add, folded))

    def seeds(self, logs: Sequence[Log], noise: Sequence[np.ndarray], run: RunFile = RUN) -> list[list[Factor]]:
        """The same [seed][coordinate], with the motors' noise (N, 4, seeds) of each log: the loops are closed once."""
        parts = [part for log, n in zip(logs, noise, strict=True) for part in self._noisy(log, n, run)]
        W, y, shaken = (np.concatenate(x) for x in zip(*parts, strict=True))
        return fold_seeds([(np.arange(len(W)), W, y)], shaken)

    def _noisy(self, log: Log, noise: np.ndarray, run: RunFile) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        job, parts = fitted_rows(self.robot, run, log), []
        assert job.filter is not None
        for block in observe(self.robot, log, run.preparation, [job.filter]):
            W, known, measured = filtered(block, job.filter, log, job.noise)
            begin = block.begin - block.keep.start
            shaken = np.einsum("nij,nis->njs", block.B, noise[begin : begin + len(block.B)])
            shaken = job.filter.apply(whitened(shaken, block.B, job.noise), log.rate, log.name)[block.keep]
            kept = job.label(block.begin + np.arange(len(W)), block.rates[block.keep])[:, 0] >= 0
            parts.append((W[kept], (measured - known)[kept], shaken[kept]))
        return parts

    def base(self, groups: list[Factor]) -> BaseSet:
        return base_set(weighted(groups, np.ones(len(groups)))[:, :-1], columns(self.robot).layout.order)

    def nine_of(self, estimate: BaseEstimate, x: np.ndarray) -> np.ndarray:
        """Entries of x (r,), by base parameter, for the nine of table 2; nan where one has fallen out."""
        place = {int(c): k for k, c in enumerate(estimate.base.columns)}
        return np.array([x[place[c]] if c in place else np.nan for c in self.nine])


def motion(name: str) -> FourierMotion:
    return read_yaml(EXAMPLES / f"{name}.yaml", FourierMotion)


def recorded(internal: float) -> tuple[Log, Log]:
    """The empty and the loaded log, exact but for the internal torque."""
    exact = Noise(np.zeros(4), seed=1, internal=internal), Noise(np.zeros(4), seed=2, internal=internal)
    empty = simulate(DUALV, motion(FIT[0]), exact[0])
    return empty, replace(simulate(loaded(DUALV, BODY), motion(FIT[1]), exact[1]), loaded=True)


def least_norm_rows(name: str, with_body: bool) -> np.ndarray:
    """Columns (N, 4, p) of the motor torques of least norm along a motion, rates exact."""
    case = Case.along(CASES["case 1"])
    _, *rates = fourier(motion(name), case.robot.coordinates.names)
    state = case.robot.close(*rates)
    W, B = state_regressor(case.robot, state), motor_map(case.robot, state)
    if not with_body:
        W[:, :, case.robot.payload_columns] = 0.0
    return np.linalg.pinv(B.transpose(0, 2, 1)) @ W


def torque_errors(W: np.ndarray, tau: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Relative error (4,) per motor in percent."""
    return 100 * np.linalg.norm(W @ x - tau, axis=0) / np.linalg.norm(tau, axis=0)


def identified(folder: Path, seed: int, sigma: float = 10.0, internal: float = 6.0) -> dict[tuple[str, int], Robot]:
    """The robot with its payload as each case identifies it from noisy logs, by case and seed; files go into the folder."""
    rng, fit = np.random.default_rng(1000 + seed), []
    for name, log in zip(FIT, recorded(internal), strict=True):
        file = folder / f"{name}_{seed}.parquet"
        assert log.tau is not None
        shaken = replace(log, tau=log.tau + sigma * rng.normal(size=log.tau.shape))
        write_log(file, shaken, DUALV, "SIMULATED")
        fit.append(LogSpec(file=file, loaded=log.loaded))
    found = {}
    for case, names in CASES.items():
        run = PRINTED.model_copy(update={"coordinates": list(names), "fit": fit})
        result = execute(run, folder).write(folder / f"{case}_{seed}", report=False)
        found[case, seed] = load(result / "dualv_loaded.yaml")
    return found
