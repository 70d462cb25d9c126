"""What can be known of each parameter: counts over a finite field, statements of the papers, and a gain done by hand."""

import csv
import random
import re
from pathlib import Path

import numpy as np
import pytest
from finite_field import P, body, cross, dot, of, over, rank, root, unit

from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.identifiability import gains, identifiability
from robodyn_pin.robot.robot import load

PANDA = [("0", 0, "0.333"), ("0", -1, "0"), ("0", 1, "0.316"), ("0.0825", 1, "0"), ("-0.0825", -1, "0.384"),
         ("0", 1, "0"), ("0.088", 1, "0")]  # fmt: skip


def panda_energy(rng: random.Random) -> list[int]:
    """Modified Denavit-Hartenberg chain of the published identification: a, sine of alpha, d."""
    v, w, p, R = [0, 0, 0], [0, 0, 0], [0, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    columns = []
    for a, sine, d in PANDA:
        c, s, rate = *unit(rng.randrange(P)), rng.randrange(P)
        cosine, away = 1 - abs(sine), [of(a), -sine * of(d), (1 - abs(sine)) * of(d)]
        turn = [
            [c, -s, 0],
            [s * cosine, c * cosine, -sine],
            [s * sine, c * sine, cosine],
        ]  # columns: axes in the parent
        v = [(x + y) % P for x, y in zip(v, cross(w, away), strict=True)]
        v, w = ([dot(x, axis) for axis in zip(*turn, strict=True)] for x in (v, w))
        w[2] += rate
        p = [(x + dot(row, away)) % P for x, row in zip(p, R, strict=True)]
        R = [[dot(row, axis) for axis in zip(*turn, strict=True)] for row in R]
        columns += body(v, w, p[2], R[2])
    return columns


def dualv_energy(rng: random.Random) -> list[int]:
    """Four legs of two links of 0.28 m in the horizontal plane; roots close the loops."""
    L, r = of("0.28"), of("0.11")
    while True:
        x, y, vx, vy, rate = (rng.randrange(P) for _ in range(5))
        c, s = unit(rng.randrange(P))
        columns = []
        for side_x, side_y, end in ((1, 1, 1), (-1, 1, 1), (-1, -1, -1), (1, -1, -1)):
            arm = [-end * r * s, end * r * c]
            D = [x + arm[0] - side_x * of("0.396"), y + arm[1] - side_y * of("0.11")]
            vC = [vx - rate * arm[1], vy + rate * arm[0]]
            height = root(over(1, dot(D, D)) - over(1, 4 * L * L))
            if height is None:
                break
            e1, e2 = ([over(D[0], 2 * L) - k * height * D[1], over(D[1], 2 * L) + k * height * D[0]] for k in (1, -1))
            n1, n2 = [-e1[1], e1[0]], [-e2[1], e2[0]]
            det = (n1[0] * n2[1] - n1[1] * n2[0]) * L
            w1, w2 = over(vC[0] * n2[1] - vC[1] * n2[0], det), over(n1[0] * vC[1] - n1[1] * vC[0], det)
            elbow = [L * w1 * x for x in n1]
            columns += body([0, 0, 0], [0, 0, w1]) + body([dot(elbow, e2), dot(elbow, n2), 0], [0, 0, w2])
        else:
            return columns + body([c * vx + s * vy, c * vy - s * vx, 0], [0, 0, rate])


def delta_energy(rng: random.Random) -> list[int]:
    """Arms of 0.2 m, rods of 0.4 m in pairs that act as one, a platform that does not turn; frames as in the URDF."""
    L1, L2, offset, third = of("0.2"), of("0.4"), of("0.10"), (over(-1, 2), over(root(3), 2))
    while True:
        x, y, z, vx, vy, vz = (rng.randrange(P) for _ in range(6))
        columns, c, s = [], 1, 0
        for _ in range(3):
            ball, v = [c * x + s * y, c * y - s * x, z], [c * vx + s * vy, c * vy - s * vx, vz]
            c, s = c * third[0] - s * third[1], s * third[0] + c * third[1]
            u, n = ball[0] - offset, (ball[0] - offset) ** 2 + z * z
            K = over(n + ball[1] ** 2 + L1 * L1 - L2 * L2, 2 * L1)
            q = root(n - K * K)
            if q is None:
                break
            cos, sin = over(K * u + z * q, n), over(u * q - K * z, n)
            d = [over(u - L1 * cos, L2), over(ball[1], L2), over(z + L1 * sin, L2)]
            tilt = root(1 - d[1] ** 2)  # cosine of the rod's angle out of the arm's plane
            if tilt is None:
                break
            along = [-sin, 0, -cos]  # of the elbow
            rate = over(dot(d, v), L1 * dot(d, along))
            elbow = [L1 * rate * e for e in along]
            turning = [over(a - b, L2) for a, b in zip(v, elbow, strict=True)]
            ca, sa = over(d[0], tilt), over(-d[2], tilt)
            axes = [d, [-d[1] * ca, tilt, d[1] * sa], [sa, 0, ca]]
            a_rate, b_rate = over(dot(turning, [-sa, 0, -ca]), tilt), over(turning[1], tilt)
            w = [a_rate * axis[1] + b_rate * k for axis, k in zip(axes, (0, 0, 1), strict=True)]
            columns += body([0, 0, 0], [0, rate, 0], 0, [-sin, 0, cos])
            columns += body([dot(elbow, axis) for axis in axes], w, -L1 * sin, [axis[2] for axis in axes])
        else:
            return columns + body([vx, vy, vz], [0, 0, 0], z, [0, 0, 1])


COUNTED = {"panda": (panda_energy, 43), "dualv": (dualv_energy, 16), "delta3": (delta_energy, 34)}


@pytest.mark.parametrize("name", COUNTED)
def test_count_over_a_finite_field_is_that_of_the_regressor(name, request):
    energy, expected = COUNTED[name]
    rng = random.Random(1)
    states = [energy(rng) for _ in range(100)]
    assert rank(states) == expected
    path = request.getfixturevalue("measured_logs") / "panda_gaz2019/panda.urdf" if name == "panda" else name
    robot = load(str(path))
    assert check(robot).inertial == expected


def kinds(path: str | Path) -> dict[str, list[str]]:
    robot = load(str(path))
    found = identifiability(check(robot).base, columns(robot).layout.labels)
    return {kind: [p.label for p in found if p.kind == kind] for kind in ("alone", "combination", "not at all")}


def test_panda_shows_alone_what_stands_alone_in_the_published_list(measured_logs: Path):
    """Gaz et al. write J7zz for Izz about the link frame, c7x m7 for a first moment."""
    with (measured_logs / "panda_gaz2019/published_base_parameters.csv").open() as file:
        published = [row["coefficient"] for row in csv.DictReader(file, delimiter=";")][:43]
    alone, named = set(), set()
    for coefficient in published:
        terms = set()
        for term in re.sub(r"[\d.]+\s*\((.*?)\)", r"\1", coefficient.replace("Jxz4", "J4xz")).split():
            if match := re.search(r"J(\d)([xyz]{2})", term):
                terms.add(f"I{match[2]}(link{match[1]})")
            elif match := re.search(r"c(\d)([xyz])", term):
                terms.add(f"m{match[2]}(link{match[1]})")
        masses = re.sub(r"c\d[xyz]\s+m\d", "", coefficient)  # c7x m7 is a first moment, not a mass
        terms |= {f"m(link{k})" for k in re.findall(r"m(\d)", masses)}
        named |= terms
        alone |= terms if len(terms) == 1 else set()
    found = kinds(measured_logs / "panda_gaz2019/panda.urdf")
    assert set(found["alone"]) == alone
    assert set(found["alone"]) | set(found["combination"]) == named
    assert len(alone) == 20


def test_irb360_shows_what_its_motion_can_move():
    """Gnad et al.: arms without mass, a platform without inertia; of the end-effector m, mcx, mcy, Izz."""
    found = kinds("irb360")
    unseen, seen = set(found["not at all"]), set(found["alone"]) | set(found["combination"])
    arm = "arm_1=arm_2=arm_3"
    assert {f"m({arm})", f"my({arm})"} <= unseen
    assert {f"mx({arm})", f"mz({arm})", f"Iyy({arm})"} <= seen
    assert {f"{x}(platform)" for x in ("mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")} <= unseen
    assert {x for x in seen if "end_effector" in x} == {f"{x}(end_effector)" for x in ("m", "mx", "my", "Izz")}
    assert "mz(bar_upper)" in found["alone"]
    assert "m(platform)" in found["combination"]


def test_dualv_shows_platform_and_distal_masses_only_together():
    """A point mass at the end of a distal link is one of the platform; elbows out of line stand alone."""
    found = kinds("dualv")
    assert {f"{x}({b})" for x in ("m", "mx", "Izz") for b in ("distal_1", "distal_4")} <= set(found["combination"])
    assert {"m(platform)", "my(platform)", "Izz(platform)"} <= set(found["combination"])
    assert {"mx(platform)", "my(distal_1)"} <= set(found["alone"])
    assert "m(proximal_1)" in found["not at all"]


def test_delta_platform_shows_its_mass_only():
    found = kinds("delta3")
    assert [x for x in found["alone"] + found["combination"] if "platform" in x] == ["m(platform)"]
    assert "m(arm_2)" in found["not at all"]


def test_combinations_are_told_from_lonely_and_unseen_columns():
    W = np.random.default_rng(0).normal(size=(50, 5))
    W[:, 2] = 2 * W[:, 0]
    W[:, 4] = 0.0
    found = identifiability(base_set(W), list("abcde"))
    assert [p.kind for p in found] == ["combination", "alone", "combination", "alone", "not at all"]
    assert found[0].combination == found[2].combination in ("a + 2 c", "c + 0.5 a")


def test_motion_that_helps_most_is_named_with_its_factor():
    """Two parameters: 100 unit rows show a, nothing shows b; by hand, twice the rows of a are worth a root of two."""
    A = np.column_stack([np.ones(100), np.zeros(100)])
    kinds = {"again": A, "b": np.column_stack([np.zeros(50), np.full(50, 3.0)])}
    found = gains(A, kinds, 100)
    assert found.motion == ["again", "b"]
    np.testing.assert_allclose(found.deviations, [0.1, np.inf])
    np.testing.assert_allclose(found.factor, [np.sqrt(2), np.inf])
