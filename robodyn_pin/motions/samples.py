"""How many samples a motion has."""

from robodyn_pin.errors import BadFile

MOST = 100_000_000  # samples: a log of some gigabytes


def samples_of(duration: float, rate: float) -> int:
    """Samples of a motion of so many seconds at so many hertz.

    Raises:
        BadFile: fewer than two, or more than a file of some gigabytes holds.
    """
    count = round(duration * rate)
    if not 2 <= count <= MOST:
        raise BadFile(f"a motion of {duration:g} s at {rate:g} Hz has {count:g} samples; expected 2 to {MOST:g}")
    return count
