"""What a law asks of its model at the measured state, compiled: one pose, several motions through it."""

from robodyn_pin.closures.kernel_options import inner, sequential
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.simulation.kernel_forces import Desk, asked, finite, new_desk, onto_loops, pose, rates
from robodyn_pin.simulation.machine import Machine


@sequential
def needs(m: Machine, q, c, cd, cdd, out, B):
    """What the coordinates need at c (d,) for motions c', c'' (k, d) through it.

    Args:
        q: (nv,) near, becomes the joints at c. out: (k, d) what they need. B: (n, d) becomes the motors' rates per coordinate rate.

    Returns: whether the loops close there.
    """
    work = new_desk(m)
    fine = work_out(by_reference(m), by_reference(work), q, c, cd, cdd, out, B)
    still_needed(work)
    return fine


@inner
def work_out(m: Machine, desk: Desk, q, c, cd, cdd, out, B):
    """As `needs`, on a desk."""
    if not (onto_loops(m, desk, c, q) and pose(m, desk, q)):
        return False
    for i in range(len(cd)):
        rates(m, desk, cd[i])
        asked(m, desk, q, cdd[i], True, out[i])
    for i in range(len(B)):
        for r in range(B.shape[1]):
            B[i, r] = desk.B[i, r]
    return finite(out)
