"""A controller that is not there: a log sent as an EGM stream, with the faults that networks have."""

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.logs.clock import between
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.units import Units
from robodyn_pin.recording.packets import encode


@dataclass(frozen=True)
class Faults:
    """Shares of the packets, 0 to 1."""

    dropped: float = 0.0
    repeated: float = 0.0
    reordered: float = 0.0  # sent after the next one
    garbage: float = 0.0  # random bytes sent besides
    seed: int = 0


@dataclass(frozen=True)
class Sent:
    """What the simulator did: sequence numbers of each fault."""

    packets: int  # of the log
    dropped: tuple[int, ...]
    repeated: tuple[int, ...]
    reordered: tuple[int, ...]
    garbage: int


def datagrams(
    log: Log, units: Units, faults: Faults, torque: bool = True, first: int = 0, slides: np.ndarray | None = None
) -> tuple[list[tuple[float, bytes]], Sent]:
    """When [s] to send what, and which faults are in it; `first` is the first sequence number, `slides` (motors,)
    says which motors slide; None: all turn."""
    rng, n = np.random.default_rng(faults.seed), len(log.t)
    position, effort = units.factors(np.zeros(log.q.shape[1], bool) if slides is None else slides)
    q = log.q / position
    tau = log.tau / effort if torque and log.tau is not None else [None] * n
    epoch = 1.7e9  # [s] the clock counts from 1970
    out = [(t, encode(first + k, epoch + t, q[k], tau[k])) for k, t in enumerate(log.t)]
    chance = rng.uniform(size=(n, 3))
    inner = np.arange(n) % (n - 1) > 0 if n > 2 else np.zeros(n, bool)  # the ends stay: they say how long the stream is
    drop = inner & (chance[:, 0] < faults.dropped)
    swap = inner & ~drop & (chance[:, 1] < faults.reordered)
    swap[:-1] &= ~(drop[1:] | swap[1:])  # there must be a next one that overtakes it
    swap[-2:] = False
    twice = inner & ~drop & ~swap & (chance[:, 2] < faults.repeated)
    sending = []
    for k in sorted(range(n), key=lambda k: k + 1.5 * swap[k]):
        sending += [(log.t[k + swap[k]], out[k][1])] * (0 if drop[k] else 2 if twice[k] else 1)
    noise = rng.uniform(size=n) < faults.garbage
    rubbish = [(log.t[k], rng.bytes(int(rng.integers(1, 200)))) for k in np.flatnonzero(noise)]
    dropped, repeated, reordered = (tuple(int(first + k) for k in np.flatnonzero(x)) for x in (drop, twice, swap))
    return sorted(sending + rubbish, key=lambda pair: pair[0]), Sent(n, dropped, repeated, reordered, len(rubbish))


def send(sending: list[tuple[float, bytes]], to: tuple[str, int], pace: float = 1.0) -> Iterator[float]:
    """Send datagrams at their times, `pace` times as fast; yields the share that is done."""
    begin = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for k, (when, datagram) in enumerate(sending):
            time.sleep(max(0.0, begin + when / pace - time.monotonic()))
            line.sendto(datagram, to)
            yield (k + 1) / len(sending)


def resampled(log: Log, rate: float) -> Log:
    """The log at another rate [Hz], straight lines between its samples."""
    t = np.arange(int((log.t[-1] - log.t[0]) * rate + 1e-9) + 1) / rate
    at = log.t - log.t[0]
    tau = None if log.tau is None else between(t, at, log.tau)
    return replace(log, t=t, q=between(t, at, log.q), tau=tau, dq=None, ddq=None)
