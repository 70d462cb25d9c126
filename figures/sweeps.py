"""Sweeps as real servos make them, and ramps until a break: what is found of them, and whether intervals hold the truth."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from make import Row, Section
from servo_sweeps import HINGE, SLIDE, STUCK_HINGE, STUCK_SLIDE, Axis, Sticking, ramps, recorded, robot_files

from robodyn_pin.files import parse_yaml
from robodyn_pin.friction_tests.breakaway_ramps import measure_breakaway
from robodyn_pin.friction_tests.free_motor import measure
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.loaded_motor import measure_sweeps
from robodyn_pin.robot.robot import load

SEEDS, FEWER, LEAST, MOST = 200, 60, 93, 97
BENT = {"slide": replace(SLIDE, static=1.0, stribeck=0.05), "hinge": replace(HINGE, static=0.8, stribeck=0.25)}


def study() -> Section:
    rows = []
    for what, axis in (("slide", SLIDE), ("hinge", HINGE)):
        rows += _curve_rows(f"{what}, ripple {1e3 * axis.ripple:.2g} m{_unit(axis)}", axis)
        rows += _curve_rows(f"{what} with Stribeck friction", BENT[what], FEWER)
        rows += _curve_rows(f"{what}, past its middle both ways", axis, FEWER, swept=True)
    for what, stuck in (("slide", STUCK_SLIDE), ("hinge", STUCK_HINGE)):
        rows += _break_rows(what, stuck)
    note = (
        f"SIMULATED by a simulator of its own (`tests/servo_sweeps.py`, plain NumPy), {SEEDS} seeds, {FEWER} where friction bends, of passages and of ramps. A slide of "
        "1 kg, strokes of 0.1 m at 5 to 160 mm/s, and a hinge, strokes of 1 rad at 0.05 to 1.5 rad/s, eight speeds back and forth: 16 "
        "strokes. Two ripples of 5 to 60 Hz, together of the amplitude said, an encoder of 1.3 um (4 urad), white noise of "
        "0.1 N (0.05 N m), a clock that jitters by 10 % of 2 ms, 10 % of the rows repeat the one before. Where the ripple turns "
        "a slow stroke round the force turns with it: such strokes are found, told and left out. Curves are not named: the "
        "points choose. Ramps: 1 N/s (N m/s), static friction scatters by 2 % from one break to the next and changes by "
        "20 % along the axis, four ramps each way at three places."
    )
    return Section("Friction from sweeps of real servos", "python figures/make.py sweeps", tuple(rows), note)


def _unit(axis: Axis) -> str:
    return "rad" if axis.turns else "m"


def _curve_rows(what: str, axis: Axis, seeds: int = SEEDS, swept: bool = False) -> list[Row]:
    wanted = f"sweeps: {{at: {{x: {axis.stroke / 2}}}}}" if swept else "motor: x"
    run = parse_yaml(f"{{robot: axis.yaml, logs: [{{file: log.parquet}}], {wanted}}}", FrictionFile, "friction.yaml")
    inside, strokes, models, claimed = [], [], [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        robot = load(robot_files(folder, axis.turns))
        for seed in range(seeds):
            pl.DataFrame(recorded(axis, seed)).write_parquet(folder / "log.parquet")
            found = measure_sweeps(run, folder, robot).motors["x"] if swept else measure(run, folder, robot)
            told = [w for w in found.warnings if "turns the motion round" in w]
            left_out = sum(int(w.split("left out: ")[1].split(",")[0]) for w in told)
            strokes.append((1 + swept) * len(found.points.speed) + left_out)
            models.append(found.model)
            quantities = {q.name: q for q in found.quantities}
            for key, value in truth(axis).items():
                if key in quantities and quantities[key].shown:
                    hit = abs(quantities[key].value - value) <= quantities[key].reach
                    inside.append(hit)
                    claimed.setdefault(key, []).append(hit)
    bends = axis.static > 0
    right = 100 * np.mean([m == ("stribeck" if bends else "linear") for m in models])
    expected = 2 * len(axis.speeds)
    cover, each = 100 * np.mean(inside), ", ".join(f"{k} {100 * np.mean(v):.0f}" for k, v in claimed.items())
    return [
        Row(f"{what}: strokes found, of {expected}, least and mean of the logs", f"{expected}", f"{min(strokes)}, {np.mean(strokes):.2f}",
            min(strokes) == expected),
        Row(f"{what}: truth inside the 95 % intervals [%]", f"{LEAST} to {MOST}", f"{cover:.1f} ({each}), {len(inside)} intervals",
            bool(LEAST <= cover <= MOST)),
        Row(f"{what}: the right curve counts [%]", ">= 95" if not bends else "reported", f"{right:.1f}",
            None if bends else bool(right >= 95)),
    ]  # fmt: skip


def truth(axis: Axis) -> dict[str, float]:
    """By the names of the quantities."""
    of = {
        "coulomb": axis.coulomb,
        "Fc": axis.coulomb,
        "viscous": axis.viscous,
        "Fv": axis.viscous,
        "offset": axis.offset,
    }
    return of | {"load": axis.offset, "Fs": axis.coulomb + axis.static, "omega_st": axis.stribeck}


def _break_rows(what: str, axis: Sticking) -> list[Row]:
    spec = f"breakaway: {{at: {{x: {list(axis.places)}}}, slip: {axis.slip / 2}, within: {10 * axis.slip}}}"
    run = parse_yaml(f"{{robot: axis.yaml, logs: [{{file: log.parquet}}], {spec}}}", FrictionFile, "friction.yaml")
    count, inside, off = [], {"static friction": [], "stiffness": [], "load": []}, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        robot = load(robot_files(folder, axis.turns))
        for seed in range(FEWER):
            pl.DataFrame(ramps(axis, seed)).write_parquet(folder / "log.parquet")
            places = measure_breakaway(run, folder, robot).places["x"]
            count.append(sum(len(p.ramps) for p in places))
            for p in places:
                true = {"static friction": axis.static_at(p.at), "stiffness": axis.stiffness, "load": axis.load}
                found = {q.name: q for q in p.found}
                for key, hits in inside.items():
                    hits.append(abs(found[key].value - true[key]) <= found[key].reach)
                off.append(abs(found["stiffness"].value / axis.stiffness - 1))
    expected = 8 * len(axis.places)
    rows = [Row(f"{what}: ramps found, of {expected}, least and most of the logs", f"{expected}", f"{min(count)}, {max(count)}",
                min(count) == max(count) == expected)]  # fmt: skip
    for key, hits in inside.items():
        cover = 100 * np.mean(hits)
        rows.append(
            Row(f"{what}: {key} by place inside its 95 % interval [%]", ">= 93", f"{cover:.1f}", bool(cover >= LEAST))
        )
    return [*rows, Row(f"{what}: stiffness, median error [%]", "", f"{100 * np.median(off):.2g}")]
