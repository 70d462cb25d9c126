"""A controller's EGM stream as a log: every packet once, in the order of the sequence numbers, and what was wrong with it."""

import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.too_fast import check_speed
from robodyn_pin.logs.units import Units
from robodyn_pin.recording.packets import NotEgm, Packet, Torques, decode
from robodyn_pin.robot.robot import Robot

TURN = 2**32  # sequence numbers count modulo this
RESTART = 5000  # packets by which a number may fall back before the stream is taken to have begun anew
BUFFER = 2**22  # [bytes] asked of the system for packets that wait
HALF = 1e-3  # [s] less than half a step of any stream: round-off of the controller's clock
LATE = 10  # packets past the end that are waited for: one that was overtaken may come after them
QUIET = 1.0  # [s] without a packet after which a stream has ended
LOOPBACK = "127.0.0.1"  # what only this machine can send to
LARGEST = 65536  # [bytes] of a datagram


@dataclass
class Recorder:
    """Packets as they come in."""

    motors: int
    torques: Torques = "reference"
    packets: dict[int, Packet] = field(default_factory=dict)  # sequence number, counted on beyond 2^32 -> packet
    newest: int | None = None
    repeated: int = 0
    reordered: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def take(self, datagram: bytes) -> Packet | None:
        """Keep the packet of a datagram; None where it was rejected or was there already.

        Raises:
            RobodynError: the numbers begin anew.
        """
        try:
            packet = decode(datagram, self.motors, self.torques)
            if self.packets and packet.clock != next(iter(self.packets.values())).clock:
                raise NotEgm("another clock than the first packet's")
        except NotEgm as error:
            self.rejected[str(error)] += 1
            return None
        if self.newest is None:
            self.newest = number = packet.number
        else:
            number = self.newest + (packet.number - self.newest + TURN // 2) % TURN - TURN // 2
        if self.newest - number > RESTART:
            raise RobodynError(f"the stream began anew: after packet {self.newest % TURN} came {packet.number}")
        if number in self.packets:
            self.repeated += 1
            return None
        self.reordered += number < self.newest
        self.newest = max(self.newest, number)
        self.packets[number] = packet
        return packet


@dataclass(frozen=True)
class Recording:
    """What came in: N packets in order, in the controller's units, time from zero."""

    packets: list[Packet]
    numbers: np.ndarray  # (N,) counted on beyond 2^32
    repeated: int
    reordered: int
    rejected: dict[str, int]  # reason -> datagrams
    strangers: int  # datagrams from other senders than the first
    sender: str
    ended: str  # why the recording ended

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Sequence number after which packets are missing, and how many."""
        steps = np.diff(self.numbers)
        return [(int(self.numbers[i]) % TURN, int(steps[i]) - 1) for i in np.flatnonzero(steps > 1)]

    @property
    def with_torque(self) -> int:
        """How many packets hold torques."""
        return sum(p.tau is not None for p in self.packets)

    def log(self, units: Units, name: str, slides: np.ndarray | None = None) -> Log:
        """The log in SI; without torques where not every packet holds them.

        Args:
            slides: (motors,) which slide; None: all turn.

        Raises:
            BadLog: the controller's clock stands still.
        """
        t = np.array([p.time for p in self.packets])
        if (still := np.flatnonzero(np.diff(t) <= 0)).size:
            raise BadLog(
                f"the controller's clock does not advance from packet {self.numbers[still[0]] % TURN} to the next"
            )
        position, effort = units.factors(np.zeros(len(self.packets[0].q), bool) if slides is None else slides)
        q = position * np.array([p.q for p in self.packets])
        whole = self.with_torque == len(self.packets)
        tau = effort * np.array([p.tau for p in self.packets]) if whole else None
        return Log(name, t - t[0], q, tau, simulated=any(p.simulated for p in self.packets))

    def summary(self, robot: Robot, units: Units) -> dict[str, Any]:
        """What is said of the recording; counts, gaps, torque, and whether the units can be right."""
        log, n = self.log(units, "recording", robot.slides(robot.motors.S)), len(self.packets)
        missing = sum(count for _, count in self.gaps)
        seconds = float(log.t[-1])
        about = {"robot": robot.name, "simulated": log.simulated, "sender": self.sender, "packets": n}
        rate = {"seconds": seconds, "rate": (n + missing - 1) / seconds if n > 1 else None, "dropped": missing}
        gaps = {"gaps": [{"after packet": after, "missing": count} for after, count in self.gaps]}
        more = {"repeated": self.repeated, "reordered": self.reordered, "rejected": sum(self.rejected.values())}
        others = {"reasons": self.rejected, "from other senders": self.strangers}
        end = {"torque": self._torque(), "ended": self.ended, "units": units.model_dump(exclude={"time"})}
        return about | rate | gaps | more | others | end | {"cautions": _cautions(log, robot, units)}

    def _torque(self) -> str:
        n, held = len(self.packets), self.with_torque
        if held == n:
            return "in every packet, as the controller estimates it"
        if held == 0:
            return "absent: this controller streams none, as older ones do not; the log holds positions only"
        return f"in {held} of {n} packets only, so left out: the log holds positions only"


def _cautions(log: Log, robot: Robot, units: Units) -> list[str]:
    """Signs that the declared units are not the stream's."""
    try:
        check_speed(log, robot, units)
    except BadLog as error:
        return [str(error).partition(";")[0] + f"; is the angle streamed in {units.angle}?"]
    return []


def listen(port: int, address: str = LOOPBACK) -> socket.socket:
    """A socket that receives on a UDP port of one address of this machine; "0.0.0.0" is all of them.

    Raises:
        RobodynError: the port is taken or not allowed, or the address is not one of this machine.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    try:
        listener.bind((address, port))
    except OSError as error:
        listener.close()
        place = f"UDP port {port}" + (f" of {address!r}" if address != LOOPBACK else "")
        raise RobodynError(f"cannot listen on {place}: {error.strerror}") from None
    return listener


def record(
    listener: socket.socket,
    motors: int,
    duration: float,
    wait: float = 30.0,
    torques: Torques = "reference",
    progress: Callable[[float], None] = lambda share: None,
) -> Recording:
    """Record `duration` seconds of the controller's clock, from its first packet; Ctrl-C ends it earlier.

    Nothing is sent. Packets of other senders than the first are counted and left alone. All packets stay in memory, about
    a kilobyte each: an hour at 250 Hz is a gigabyte.

    Raises:
        RobodynError: nothing readable came within `wait` seconds; says what came.
    """
    recorder, sender, strangers, begin, beyond = Recorder(motors, torques), None, 0, 0.0, 0
    ended, deadline = "the stream went quiet", time.monotonic() + wait
    try:
        while (left := deadline - time.monotonic()) > 0:
            listener.settimeout(left)
            datagram, source = listener.recvfrom(LARGEST)
            if sender is not None and source != sender:
                strangers += 1
                continue
            packet = recorder.take(datagram)
            if packet is None:
                continue
            if sender is None:
                sender, begin = source, packet.time
            deadline, passed = time.monotonic() + QUIET, packet.time - begin
            progress(min(passed / duration, 1.0))
            beyond += passed >= duration - HALF
            if beyond > LATE:
                ended = "time was up"
                break
    except TimeoutError:
        pass
    except KeyboardInterrupt:
        ended = "interrupted"
    except RobodynError as error:
        ended = str(error)
    kept = {n: p for n, p in recorder.packets.items() if p.time - begin < duration - HALF}
    if len(kept) < 2:
        raise RobodynError(_nothing(listener, recorder, wait))
    numbers = sorted(kept)
    counted = (recorder.repeated, recorder.reordered, dict(recorder.rejected), strangers)
    origin = f"{sender[0]}:{sender[1]}" if sender else ""
    return Recording([kept[n] for n in numbers], np.array(numbers), *counted, origin, ended)


def _nothing(listener: socket.socket, recorder: Recorder, wait: float) -> str:
    address, port = listener.getsockname()
    if recorder.packets:
        return f"only one packet of an EGM stream came on UDP port {port}; a log needs two"
    if not recorder.rejected:
        return (
            f"nothing arrived on UDP port {port} within {wait:g} s; does the controller's EGM send to this machine and port, "
            "is its program running?"
            + (" It sends from elsewhere: add --listen with this machine's address." if address == LOOPBACK else "")
        )
    reasons = ", ".join(f"{reason}: {count}" for reason, count in recorder.rejected.most_common(4))
    return (
        f"no packet of an EGM stream with {recorder.motors} joints on UDP port {port} within {wait:g} s: "
        f"{sum(recorder.rejected.values())} datagrams rejected ({reasons})"
    )
