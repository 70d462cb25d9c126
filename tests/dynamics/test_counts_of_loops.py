"""Base parameters of the assumed robots of the catalogue: exact ranks of their energies over a finite field."""

import random
from pathlib import Path

import loops_by_hand
import numpy as np
import pytest
from exact_robot import F, P, count, of, root, unit

from robodyn_pin.dynamics.check import check
from robodyn_pin.robot.robot import load

ROOT = Path(__file__).parents[2]
NUMBERS = {"of": of, "root": root}


def free(rng: random.Random, k: int) -> list[F]:
    return [F(rng.randrange(P)) for _ in range(k)]


def scara(rng: random.Random) -> dict:
    """The nut's angle is no algebraic function of slide and turn: over random states it is as free as they are."""
    return {name: unit(rng) for name in ("j1", "j2", "nut", "turn")} | {"z": free(rng, 1)[0]}


STATES = {
    "fivebar": (lambda rng: loops_by_hand.fivebar(unit(rng), unit(rng), **NUMBERS), 11),
    "fourbar_leg": (lambda rng: loops_by_hand.fourbar_leg(unit(rng), unit(rng), unit(rng), **NUMBERS), 28),
    "h4": (lambda rng: loops_by_hand.h4(free(rng, 3), unit(rng), **NUMBERS), 15),
    "hexapod": (lambda rng: loops_by_hand.hexapod(free(rng, 3), [unit(rng) for _ in range(3)], **NUMBERS), 82),
    "scara": (scara, 11),
    "slider_crank": (lambda rng: loops_by_hand.slider_crank(unit(rng), **NUMBERS), 6),
}


@pytest.mark.parametrize("name", STATES)
def test_the_exact_rank_of_the_energies_is_the_number_of_base_parameters(name):
    joints, expected = STATES[name]
    robot = load(name)
    assert count(robot, joints, expected + 6) == expected
    assert check(robot).inertial == expected


def test_a_home_near_the_end_of_reach_hides_nothing(tmp_path):
    """The leg drawn straight: most random poses far from home are out of reach. It has the parameters of the leg drawn bent."""
    folder = ROOT / "urdf"
    (tmp_path / "fourbar_leg.urdf").write_text((folder / "fourbar_leg.urdf").read_text())
    bent = (folder / "fourbar_leg.yaml").read_text()
    (tmp_path / "leg.yaml").write_text("\n".join(line for line in bent.splitlines() if not line.startswith("home:")))
    straight = load(tmp_path / "leg.yaml")
    assert np.abs(straight.home).max() < 1e-9
    assert check(straight).inertial == 28
