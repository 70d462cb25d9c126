"""A robot under a controller sample by sample, compiled: as closed_loop.py does with laws that ask their model at most once."""

import numpy as np

from robodyn_pin.closures.kernel_options import allocating, inner, sequential
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.simulation.believed import GIVEN
from robodyn_pin.simulation.kernel_forces import Desk, new_desk, put_into
from robodyn_pin.simulation.kernel_law import work_out
from robodyn_pin.simulation.kernel_matrices import backward, factor, forward
from robodyn_pin.simulation.kernel_step import go_on, go_on_smoothly
from robodyn_pin.simulation.machine import Machine
from robodyn_pin.simulation.sampled_loop import Kept, Law, Remembered, Sampling


@sequential
def run_samples(
    m: Machine, axes, turns, steps, known: Machine, law: Law, by: Sampling, held: Remembered, kept: Kept, q, c, cd, stretch, taken,
    begin, end,
):  # fmt: skip
    """Go from sample `begin` to `end`, state in place: the sample that was reached, and what friction took.

    It stops at a sample that it does not master, with all as it was there: who calls goes on as they can, or say why not.

    Args:
        axes, turns, steps: as `hold`; turns 0: smooth. taken: by friction up to sample `begin` [J].
    """
    desk, recall = new_desk(m), new_desk(known)
    reached = go_through(
        by_reference(m), by_reference(desk), axes, turns, steps, by_reference(known), by_reference(recall), by_reference(law),
        by_reference(by), by_reference(held), by_reference(kept), q, c, cd, stretch, taken, begin, end,
    )  # fmt: skip
    still_needed((desk, recall))
    return reached


@allocating
def go_through(
    m: Machine, desk: Desk, axes, turns, steps, known: Machine, recall: Desk, law: Law, by: Sampling, held: Remembered, kept: Kept,
    q, c, cd, stretch, taken, begin, end,
):  # fmt: skip
    """As `run_samples`, with a desk for the robot and one for the model that the law knows."""
    n, d, delay = len(law.inner), law.c.shape[1], len(held.waiting)
    e, rate, command, wanted, tau = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    near, motion, B = held.near.copy(), np.zeros((3, 1, d)), np.zeros((n, d))
    for k in range(begin, end):
        read_encoders(by, law.q[k], q, kept.q[k], e)
        for i in range(n):
            if not abs(e[i]) < by.lost[i]:
                return k, taken
            change = e[i] - (held.last[i] if k else e[i])
            w = 2 * np.pi * by.cutoff * by.step
            rate[i] = ((2 - w) * held.rate[i] + 2 * w / by.step * change) / (2 + w) if w > 0 else change / by.step
        put_into(held.near, near)
        if law.asks:
            if not torque_at_pose(known, recall, law, k, e, rate, near, motion, B, command):
                return k, taken
        else:
            torque_of_errors(law, k, e, rate, command)
        put_into(held.waiting[0] if delay else command, wanted)
        for i in range(n):
            tau[i] = min(max(wanted[i], -by.limits[i]), by.limits[i])
        put_into(tau, kept.tau[k])
        put_into(wanted, kept.commanded[k])
        put_into(q, kept.joints[k])
        put_into(cd, kept.cd[k])
        kept.taken[k] = taken
        if k < len(law.c) - 1:
            at_q, at_c, at_cd, at_stretch = q.copy(), c.copy(), cd.copy(), stretch.copy()
            fine, lost = True, 0.0
            if turns:
                fine, lost = go_on(
                    m, desk, axes, at_q, at_c, at_cd, at_stretch, by.step / steps, steps, tau + by.pushes[k], turns
                )
            else:
                for _ in range(steps):
                    fine = fine and go_on_smoothly(m, desk, at_q, at_c, at_cd, by.step / steps, tau + by.pushes[k])
            if not fine:
                return k, taken
            put_into(at_q, q)
            put_into(at_c, c)
            put_into(at_cd, cd)
            put_into(at_stretch, stretch)
            taken += lost
        put_into(near, held.near)
        put_into(rate, held.rate)
        put_into(e, held.last)
        for j in range(delay - 1):
            put_into(held.waiting[j + 1], held.waiting[j])
        if delay:
            put_into(command, held.waiting[delay - 1])
    return end, taken


@inner
def read_encoders(by: Sampling, reference, q, read, e):
    """What the encoders read at joints q (nv,), and the errors e (n,)."""
    for i in range(len(e)):
        x = by.offset[i]
        for j in range(len(q)):
            x += by.S[i, j] * q[j]
        if by.resolution[i] > 0:
            x = np.rint(x / by.resolution[i]) * by.resolution[i]
        read[i], e[i] = x, reference[i] - x


@inner
def torque_of_errors(law: Law, k, e, ed, command):
    """Torques at no error and P e + D e', as Briot et al. (DualV), eq. (50), at the reference's pose."""
    n, d = law.B.shape[1:]
    for i in range(n):
        command[i] = law.nominal[k, i]
    for j in range(n):
        tau = 0.0
        for i in range(n):
            tau += law.P[j, i] * e[i] + law.D[j, i] * ed[i]
        if not law.projected:
            command[j] += tau
            continue
        for i in range(n):
            for r in range(d):
                command[i] += law.B[k, i, r] * law.back[k, r, j] * tau


@allocating
def torque_at_pose(known: Machine, recall: Desk, law: Law, k, e, ed, near, motion, B, command):
    """Torques that the model needs at the measured pose for what makes errors fall; whether it can be there and the motors do that."""
    n, d = law.B.shape[1:]
    at, efforts = np.zeros(d), np.zeros((1, d))
    for r in range(d):
        away, drift = 0.0, 0.0
        for i in range(n):
            away += law.back[k, r, i] * e[i]
            drift += law.back[k, r, i] * ed[i]
        at[r], motion[0, 0, r] = law.c[k, r] - away, law.cd[k, r] - drift
        motion[1, 0, r] = law.cdd[k, r] + law.drag * drift + law.stiffness * away
    if not work_out(known, recall, near, at, motion[0], motion[1], efforts, B):
        return False
    for r in range(d):
        efforts[0, r] += law.friction[k, r]
    return of_motors(B, efforts[0], law.inner, command)


@allocating
def of_motors(B, efforts, inner, command):
    """Fill torques (n,) of least norm that give efforts (d,), and the part of `inner` (n,) that moves nothing; whether there are such."""
    n, d = B.shape
    L, x, y, largest = np.zeros((d, d)), efforts.copy(), np.zeros(d), 1e-3
    for r in range(d):
        largest = max(largest, abs(efforts[r]))
        for i in range(n):
            y[r] += B[i, r] * inner[i]
        for s in range(r + 1):
            for i in range(n):
                L[r, s] += B[i, r] * B[i, s]
    if not factor(L, L):
        return False
    forward(L, x)
    backward(L, x)
    forward(L, y)
    backward(L, y)
    for i in range(n):
        command[i] = 0.0
        for r in range(d):
            command[i] += B[i, r] * x[r]
    for r in range(d):
        missing = efforts[r]
        for i in range(n):
            missing -= command[i] * B[i, r]
        if not abs(missing) <= GIVEN * largest:
            return False
    if n > d:
        for i in range(n):
            command[i] += inner[i]
            for r in range(d):
                command[i] -= B[i, r] * y[r]
    return True
