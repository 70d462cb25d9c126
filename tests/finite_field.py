"""Counts without round-off: energies at random states over a finite field, where roots exist and ranks are exact.

A mechanism's energy is linear in its parameters; parameters that its motion can show span the energies' columns, less
what is constant. Over a large prime field a rank equals the symbolic one but for a chance of about 1e-16.
"""

from fractions import Fraction

P = 2**61 + 15


def of(x) -> int:
    x = Fraction(str(x))
    return x.numerator * pow(x.denominator, -1, P) % P


def over(a: int, b: int) -> int:
    return a * pow(b, -1, P) % P


def root(x: int) -> int | None:
    """A square root, or None: half of the numbers have one."""
    r = pow(x, (P + 1) // 4, P)
    return r if r * r % P == x % P else None


def unit(t: int) -> tuple[int, int]:
    """A cosine and a sine."""
    n = 1 + t * t
    return over(1 - t * t, n), over(2 * t, n)


def dot(a, b) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True)) % P


def cross(a, b) -> list[int]:
    return [(a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2]) % P for i in range(3)]


def body(v, w, height: int = 0, axes_up=(0, 0, 0)) -> list[int]:
    """Energy of m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz: v, w of its frame in it, height and vertical parts of its axes."""
    half, g = of("0.5"), of("9.81")
    first = [c + g * up for c, up in zip(cross(v, w), axes_up, strict=True)]
    inertia = [half * w[0] ** 2, w[0] * w[1], half * w[1] ** 2, w[0] * w[2], w[1] * w[2], half * w[2] ** 2]
    return [x % P for x in [half * dot(v, v) + g * height, *first, *inertia]]


def rank(rows: list[list[int]]) -> int:
    """Rank of the rows less the first one."""
    rows = [[(x - y) % P for x, y in zip(row, rows[0], strict=True)] for row in rows[1:]]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        found += 1
        rows.remove(pivot)
        inverse = pow(pivot[column], -1, P)
        rows = [
            [(x - row[column] * inverse * y) % P for x, y in zip(row, pivot, strict=True)] if row[column] else row
            for row in rows
        ]
    return found
