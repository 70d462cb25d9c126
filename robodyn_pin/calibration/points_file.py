"""Measurements of a robot's poses: read from CSV and checked for units, order and reach before anything is fitted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.targets import COLUMNS, TargetSpec
from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.logs.numbers_of_cells import column
from robodyn_pin.logs.table import check_header, open_table

THOUSAND = (300.0, 3000.0)  # between them lies a factor that is millimetres for metres
MISFITTING = 0.02  # [m] rms: so far off the drawing no tolerance puts a robot
SWAPPED = 0.3  # of the misfit is left once two reflectors are exchanged


@dataclass(frozen=True)
class Observations:
    """What was measured at N poses, SI units."""

    name: str
    c: np.ndarray  # (N, d) read coordinates [rad or m]
    values: Mapping[str, np.ndarray]  # (N, rows) of each target, NaN where it was not measured
    rows: tuple[int, ...]  # numbers of the poses in the file, from 1
    simulated: bool = False
    wrench: np.ndarray | None = None  # (N, 6) force and moment on the robot [N, N m], axes of its base; None: no loads

    def __getitem__(self, picked: np.ndarray) -> "Observations":
        """Some of the poses."""
        values = {name: x[picked] for name, x in self.values.items()}
        wrench = None if self.wrench is None else self.wrench[picked]
        rows = tuple(np.array(self.rows)[picked].tolist())
        return replace(self, c=self.c[picked], values=values, rows=rows, wrench=wrench)

    def label(self, i: int) -> str:
        """What a message calls pose i."""
        return f"pose {self.rows[i]} of {self.name}"


def read_observations(
    path: Path, names: Sequence[str], slides: np.ndarray, targets: Mapping[str, TargetSpec], length: float, angle: float,
    columns: Mapping[str, str | int] | None = None, sliding: Collection[str] = (),
) -> Observations:  # fmt: skip
    """Read a file with a column for each coordinate, and NAME_x, NAME_y, ... for each target; empty cells were not measured.

    Args:
        names, slides: the coordinates, and which of them slide. length, angle: units of the file [m, rad].
        columns: headers that are not those. sliding: targets that are encoders of sliding joints.

    Raises:
        BadLog, UnknownName: the message names file, column and row.
    """
    table = open_table(path)
    headers = {name: [f"{name}_{part}" for part in COLUMNS[spec.kind]] for name, spec in targets.items()}
    every = [*names, *(header for part in headers.values() for header in part)]
    own: dict[str, str] = {}
    for name, header in (columns or {}).items():
        if name not in every:
            raise UnknownName("column", name, "'columns'", every)
        if isinstance(header, int) and not 1 <= header <= len(table.headers):
            raise BadLog(f"{path}: 'columns' reads {name!r} from column {header}, expected 1 to {len(table.headers)}")
        own[name] = table.headers[header - 1] if isinstance(header, int) else header
    for name in every:
        check_header(table, own.get(name, name))
    if len({own.get(name, name) for name in every}) < len(every):
        raise BadLog(f"{path}: two of {', '.join(every)} are read from one column; correct 'columns'")
    cells = table.read([own.get(name, name) for name in every])
    unit = dict(zip(names, np.where(slides, length, angle), strict=True))
    for name, spec in targets.items():
        turning = ("rx", "ry", "rz") if name in sliding else ("rx", "ry", "rz", "angle")
        unit |= {f"{name}_{part}": angle if part in turning else length for part in COLUMNS[spec.kind]}
    read = {
        name: column(cells[own.get(name, name)], str(path), table.line, gaps=name not in names, unit=float(unit[name]))
        for name in every
    }
    values = {name: np.stack([read[header] for header in part], axis=1) for name, part in headers.items()}
    for name, x in values.items():
        x[np.isnan(x).any(axis=1)] = np.nan
        if np.isnan(x).all():
            raise BadLog(f"{path}: nothing was measured of {name!r}, its columns are empty; leave it out of 'targets'")
    c = np.stack([read[name] for name in names], axis=1)
    return Observations(path.name, c, values, tuple(range(1, len(c) + 1)), "simulated" in table.notes.lower())


def laid_over(
    seen: Observations, targets: Mapping[str, TargetSpec], drawn: Mapping[str, np.ndarray], free: bool
) -> pin.SE3:
    """The robot's base in the axes of the measurements, from where the drawing puts what was measured; checked.

    Args:
        drawn: values (N, rows) of each target for a base at zero. free: whether the base is sought; else it stays at zero.

    Raises:
        BadLog: millimetres for metres, two reflectors swapped, one pose that is wrong, or nothing like this robot.
    """
    points = {name for name, spec in targets.items() if spec.kind in ("point", "pose")}
    if not points:
        return pin.SE3.Identity()
    a, b = _together(drawn, drawn, seen, points), _together(seen.values, drawn, seen, points)
    _check_size(seen, a, b)
    base = _rigid(a, b) if free else pin.SE3.Identity()
    off = _rms(a, b, base)
    for one, other in combinations([name for name in targets if name in points and targets[name].kind == "point"], 2):
        swapped = dict(seen.values) | {one: seen.values[other], other: seen.values[one]}
        changed = replace(seen, values=swapped)
        a2, b2 = _together(drawn, drawn, changed, points), _together(swapped, drawn, changed, points)
        left = _rms(a2, b2, _rigid(a2, b2) if free else base)
        if off > MISFITTING / 4 and left < SWAPPED * off:
            raise BadLog(
                f"{seen.name}: {one!r} and {other!r} seem to be swapped: as they are the points lie {1e3 * off:.3g} mm off the drawing, "
                f"exchanged {1e3 * left:.3g} mm; exchange their columns, or their places in the run file"
            )
    if off > MISFITTING:
        _check_lone(seen, points, a, b, base, free)
        raise BadLog(
            f"{seen.name}: the points lie {1e3 * off:.3g} mm (rms) off where the drawing of the robot puts them, expected a few; check the "
            f"order and units of the coordinates, the places of the targets{'' if free else ', and add base to calibrate'}"
        )
    return base


def _together(
    values: Mapping[str, np.ndarray], drawn: Mapping[str, np.ndarray], seen: Observations, points: set[str]
) -> np.ndarray:
    """Points (k, 3) of all targets where they were measured."""
    return np.concatenate([values[name][:, :3][~np.isnan(seen.values[name][:, 0])] for name in sorted(points)])


def _check_lone(seen: Observations, points: set[str], a: np.ndarray, b: np.ndarray, base: pin.SE3, free: bool) -> None:
    """See that it is not one pose alone that lies off the drawing."""
    pose = np.concatenate([np.flatnonzero(~np.isnan(seen.values[name][:, 0])) for name in sorted(points)])
    worst = pose[np.linalg.norm(a @ base.rotation.T + base.translation - b, axis=1).argmax()]
    here, others = pose == worst, pose != worst
    if not others.any():
        return
    there = _rigid(a[others], b[others]) if free else base
    if (left := _rms(a[others], b[others], there)) <= MISFITTING:
        raise BadLog(
            f"{seen.label(int(worst))} lies {1e3 * _rms(a[here], b[here], there):.3g} mm off where the drawing of the robot puts it, the others "
            f"{1e3 * left:.3g} mm (rms); correct its row, or take it out"
        )


def _check_size(seen: Observations, a: np.ndarray, b: np.ndarray) -> None:
    spread_a, spread_b = (float(np.linalg.norm(x - x.mean(axis=0))) for x in (a, b))
    ratio = spread_b / max(spread_a, 1e-12)
    if THOUSAND[0] < ratio < THOUSAND[1]:
        raise BadLog(
            f"{seen.name}: the points spread {ratio:.0f} times as far as the robot's: they are in millimetres, expected metres; add "
            "'units: {length: mm}' to the run file"
        )
    if THOUSAND[0] < 1 / max(ratio, 1e-12) < THOUSAND[1]:
        raise BadLog(
            f"{seen.name}: the points spread {1 / ratio:.0f} times less than the robot's: they are in metres, and the run file says "
            "millimetres; correct 'units'"
        )


def _rigid(a: np.ndarray, b: np.ndarray) -> pin.SE3:
    """The placement that brings points a (k, 3) nearest to b (Kabsch)."""
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    U, _, Vt = np.linalg.svd((b - mean_b).T @ (a - mean_a))
    R = U @ np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    return pin.SE3(R, mean_b - R @ mean_a)


def _rms(a: np.ndarray, b: np.ndarray, base: pin.SE3) -> float:
    return float(np.sqrt((((a @ base.rotation.T + base.translation) - b) ** 2).sum(axis=1).mean()))
