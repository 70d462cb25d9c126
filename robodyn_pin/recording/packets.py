"""Packets of ABB's Externally Guided Motion (EGM), as a controller sends them to a listener over UDP.

The messages are those of ABBRobotEGM (extra `abb`). Numbers stay in the controller's units; nothing is ever sent to it.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from robodyn_pin.errors import RobodynError

SIMULATED = b"SIMULATED by robodyn_pin"  # in a field that EGM does not have: listeners pass over it, ours looks for it
FIELD = 1000
Torques = Literal["reference", "test-signals"]
Clock = Literal["clock", "milliseconds"]  # seconds and microseconds of the feedback, or the header's milliseconds


class NotEgm(RobodynError):
    """A datagram that is no use: its message is the reason, the same for all of one kind."""


@dataclass(frozen=True)
class Packet:
    """One sample, in the controller's units."""

    number: int  # sequence number, counts up by one
    time: float  # [s] of the controller's clock
    clock: Clock
    q: np.ndarray  # (n,) motors' positions
    tau: np.ndarray | None  # (n,) motors' torques; None: the packet holds none
    simulated: bool


def messages() -> Any:
    """ABBRobotEGM's messages.

    Raises:
        RobodynError: the extra is not installed.
    """
    try:
        from ABBRobotEGM._egm_protobuf import egm_pb2
    except ModuleNotFoundError as error:
        raise RobodynError(f"EGM needs {error.name}: pip install 'robodyn_pin[abb]'") from None
    return egm_pb2


def decode(datagram: bytes, motors: int, torques: Torques = "reference") -> Packet:
    """The sample in a datagram for a robot with so many motors, external axes after the arm's own.

    Raises:
        NotEgm: no sample is in it.
    """
    from google.protobuf.message import DecodeError

    message = messages().EgmRobot()
    try:
        message.ParseFromString(datagram)
    except DecodeError:
        raise NotEgm("no EGM message") from None
    if not message.header.HasField("seqno") or message.header.mtype != messages().EgmHeader.MSGTYPE_DATA:
        raise NotEgm("no data packet with a sequence number")
    feedback = message.feedBack
    q = np.array([*feedback.joints.joints, *feedback.externalJoints.joints])
    if len(q) != motors:
        raise NotEgm(f"{len(q)} joints in place of {motors}")
    if not np.isfinite(q).all():
        raise NotEgm("positions that are no numbers")
    clock: Clock
    if feedback.HasField("time"):
        clock, time = "clock", feedback.time.sec + 1e-6 * feedback.time.usec
    elif message.header.HasField("tm"):
        clock, time = "milliseconds", 1e-3 * message.header.tm
    else:
        raise NotEgm("no time")
    source = message.torqueRef.joints if torques == "reference" else message.testSignals.signals
    tau = np.array(source[:motors])
    given = len(tau) == motors and bool(np.isfinite(tau).all())
    return Packet(message.header.seqno, time, clock, q, tau if given else None, SIMULATED in datagram)


def encode(number: int, time: float, q: np.ndarray, tau: np.ndarray | None) -> bytes:
    """A datagram as a controller sends it, marked as simulated; positions (n,) and torques (n,) in its units.

    The first six motors are the arm's, further ones external axes.
    """
    message = messages().EgmRobot()
    message.header.seqno = number % 2**32
    message.header.tm = round(1e3 * time) % 2**32
    message.header.mtype = messages().EgmHeader.MSGTYPE_DATA
    message.feedBack.joints.joints.extend(q[:6])
    message.feedBack.externalJoints.joints.extend(q[6:])
    message.feedBack.time.sec, message.feedBack.time.usec = divmod(round(1e6 * time), 10**6)
    if tau is not None:
        message.torqueRef.joints.extend(tau)
    return bytes(message.SerializeToString()) + _varint(FIELD << 3 | 2) + _varint(len(SIMULATED)) + SIMULATED


def _varint(x: int) -> bytes:
    """Protocol buffers' way of writing a number: seven bits a byte, the last without the high bit."""
    low = [x >> 7 * k & 0x7F for k in range(max(1, -(-x.bit_length() // 7)))]
    return bytes([*(b | 0x80 for b in low[:-1]), low[-1]])
