"""Laws of control and drives that yield: a load that nobody tells of, friction that does not chatter, resonances by a chirp. Simulated."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import thread_time

import numpy as np
import pinocchio as pin
from make import Row, Section

from robodyn_pin.elastic.drives_file import read_drives
from robodyn_pin.files import read_yaml
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import read_motion
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.elastic_drives import Drives, twists
from robodyn_pin.robot.payload import LoadSpec, loaded
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.balance import balance
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile

EXAMPLES = Path(__file__).parents[1] / "examples"
COMES, SETTLED = 1.0, 2.0  # [s] when the load comes on, and from when errors count afterwards
BITS = 15  # of the encoders of the Delta, which has no gears
FINE_BITS, CHATTER = 18, 0.1  # of encoders of the Delta at rest; [N m] of its torques that count there
LAWS = ("pd", "feedforward", "augmented_pd", "passivity", "adaptive")
FAR = 12  # [Hz] above the bandwidth of the loop: what counts as a resonance of the drives


def study() -> Section:
    rows = (*payload_rows(), *chatter_rows(), *arm_rows(), *speed_rows(), *resonance_rows())
    return Section(
        "Laws of control, drives that yield", "python figures/make.py laws", rows,
        "All SIMULATED. Small Delta (all its parameters assumed) along `examples/delta3_pick_motion.yaml`, 1 kHz, bandwidth 10 Hz, damping 1; 0.5 kg comes onto the "
        f"platform of 0.92 kg after {COMES:g} s, nobody tells the controller; largest errors of motors 1 to 3, reductions as Briot et al. (DualV) give them in their table 4: "
        f"before the load from 0.5 to 1 s, after it from {SETTLED:g} to 4 s. The model is that of the robot, or each of its parameters off by 5 %, signs drawn. Delta at rest: the model's friction is 30 % above the robot's, 0.1 N m push one motor, 2 kHz; without a filter the D gain turns single steps of the encoders into torques, whoever compensates what. IRB 6660: "
        "`examples/irb6660_drives.yaml` (springs, dampers and rotors assumed) with 50 kg of tool, PD at 4 Hz, one linear chirp of torque a motor; peaks of the largest singular value of the "
        "response of rotors and joints against eigenvalues of M and K that this study makes by differences of the tree's energies, torques held, by its own code.",
    )  # fmt: skip


def delta(law: str, model: Robot | None = None, bits: int | None = None) -> Tracking:
    robot, motion = load("delta3"), read_motion(EXAMPLES / "delta3_pick_motion.yaml")
    settings = read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    given = {"law": law, "rate": 1000, "bandwidth": 10, "damping": 1}
    given |= {"derivative_filter": 100} if bits else {}
    given |= {"estimator": {"settings": "delta3_track.yaml", "rate": 500}} if law == "adaptive" else {}
    given["disturbance"] = {"payload": {"link": "platform", "mass": 0.5, "radius": 0.02, "time": COMES}}
    return track_motion(*prepare(robot, model or robot, motion, ControllerFile.model_validate(given), settings), bits)


def off(robot: Robot, share: float, rng: np.random.Generator) -> Robot:
    """The robot with masses, moments and friction off by a share each, signs drawn."""
    model = robot.model.copy()
    for j in range(1, model.njoints):
        values = model.inertias[j].toDynamicParameters()
        if values.any():  # one factor a body: it still can exist
            model.inertias[j] = pin.Inertia.FromDynamicParameters(values * (1 + share * rng.choice([-1.0, 1.0])))
    efforts = tuple(
        replace(
            e, spec=e.spec.model_copy(update={"initial": (e.initial * (1 + share * rng.choice([-1.0, 1.0]))).tolist()})
        )
        for e in robot.efforts
    )
    return replace(robot, model=model, efforts=efforts)


def payload_rows() -> Iterator[Row]:
    for told, model, bits in (
        ("exact model", None, None),
        (f"encoders of {BITS} bits, derivative filter 100 Hz", None, BITS),
        ("model off by 5 %", off(load("delta3"), 0.05, np.random.default_rng(1)), None),
    ):
        found = {law: delta(law, model, bits) for law in LAWS}
        before = {law: largest(x, 0.5, COMES) for law, x in found.items()}
        after = {law: largest(x, SETTLED, 4.0) for law, x in found.items()}
        yield Row(
            f"{told}: PD before; after the load [mrad]",
            "reported",
            f"{many(1e3 * before['pd'])}; {many(1e3 * after['pd'])}",
        )
        for law in LAWS[1:]:
            less = [100 * (1 - x[law] / x["pd"]) for x in (before, after)]
            asked, met = "reported", None
            if law in ("passivity", "adaptive"):
                asked, met = ">= 80", bool(min(less[0].min(), less[1].min()) >= 80)
            text = f"{several(less[0])}; {several(less[1])}"
            yield Row(f"{told}: {law}, reduction against PD before; after [%]", asked, text, met)
        less = 100 * (1 - after["adaptive"] / after["passivity"])
        yield Row(f"{told}: adaptive against passivity after the load, reduction [%]", "reported", several(less))
        e = np.abs(found["adaptive"].error).max(axis=1)
        t = found["adaptive"].t
        peak, steady = e[(t >= COMES) & (t < COMES + 0.5)].max(), e[t >= SETTLED + 1].max()
        back = t[(t > COMES) & (e > 0.2 * peak)].max() - COMES
        yield Row(f"{told}: adaptive, peak under the load; last second [mrad]; below a fifth of the peak for good after [s]", "reported", f"{1e3 * peak:.3g}; {1e3 * steady:.3g}; {back:.2f}")  # fmt: skip


def chatter_rows() -> Iterator[Row]:
    """The Delta held at rest, its controller's friction 30 % above its own."""
    robot = load("delta3")
    model = replace(robot, efforts=tuple(replace(e, spec=e.spec.model_copy(update={"initial": (1.3 * e.initial).tolist()})) for e in robot.efforts))  # fmt: skip
    still = FourierMotion(rate=500, duration=0.5, period=1, centre=dict.fromkeys(robot.coordinates.names, 0.3))
    for cutoff in (100, None):
        counts = {}
        for at in ("none", "desired", "measured"):
            given = {"law": "passivity", "rate": 2000, "bandwidth": 10, "damping": 1, "derivative_filter": cutoff}
            given |= {"friction": at, "friction_width": 0.002, "disturbance": {"torque": {"phi1": 0.1}}}
            found = track_motion(*prepare(robot, model, still, ControllerFile.model_validate(given)), FINE_BITS)
            away = found.commanded - np.median(found.commanded, axis=0)
            counts[at] = sum(int((np.diff(np.sign(x[np.abs(x) > CHATTER])) != 0).sum()) for x in away.T)
        filtered = f"derivative filter {cutoff} Hz" if cutoff else "no derivative filter"
        yield Row(
            f"Delta held at rest for 0.5 s, encoders of {FINE_BITS} bits, {filtered}: changes of sign of torques about their medians, beyond {CHATTER:g} N m, without compensation; compensation at desired; at measured rates",
            "0 at desired rates" if cutoff else "compensation adds none", "; ".join(str(x) for x in counts.values()),
            counts["desired"] == (0 if cutoff else counts["none"]),
        )  # fmt: skip


def arm_rows() -> Iterator[Row]:
    """The IRB 2400 with its own friction, wrist and all, under computed torque."""
    robot, motion = load(EXAMPLES / "irb2400_rotors.yaml"), read_motion(EXAMPLES / "irb2400_wrist_motion.yaml")
    found = track_motion(
        *prepare(robot, robot, motion, read_yaml(EXAMPLES / "irb2400_controller.yaml", ControllerFile))
    )
    still = balance(found).stuck.mean(axis=0)
    yield Row(
        f"IRB 2400, its own friction, rotors assumed, computed torque at 1 kHz, {found.t[-1]:.3g} s: largest errors of motors 1 to 6 [mrad]; share of the time that they stand still", "runs",
        f"{many(1e3 * found.largest)}; {many(still)}", bool(np.isfinite(found.error).all()),
    )  # fmt: skip


def speed_rows() -> Iterator[Row]:
    """Processor time of a simulated second at 2 kHz, by compiled kernels: the best of three."""
    for name, wide, most in (("irb360", 0.2, 1.0), ("delta3", 0.2, 0.3), ("dualv", 0.02, 0.3)):
        robot = load(name)
        home = (robot.coordinates.S @ robot.home + robot.coordinates.offset).tolist()
        centre = dict(zip(robot.coordinates.names, home, strict=True))
        motion = FourierMotion(rate=2000, duration=1, period=1, centre=centre, sin={key: [wide] for key in centre})
        for law in ("feedforward", "computed_torque"):
            spec = ControllerFile(law=law, rate=2000, bandwidth=10, damping=1, torque_limits=False)
            pair = prepare(robot, robot, motion, spec)
            track_motion(*prepare(robot, robot, motion.model_copy(update={"duration": 0.01}), spec))  # compiled by now
            times = []
            for _ in range(3):
                begin = thread_time()
                track_motion(*pair)
                times.append(thread_time() - begin)
            yield Row(
                f"{name} at 2 kHz, {law}, extra `fast`: processor time of a simulated second [s]", f"<= {most:g}",
                f"{min(times):.2f}", min(times) <= most,
            )  # fmt: skip


def largest(found: Tracking, begin: float, end: float) -> np.ndarray:
    part = (found.t >= begin) & (found.t < end)
    return np.asarray(np.abs(found.error[part]).max(axis=0))


def resonance_rows() -> Iterator[Row]:
    robot = loaded(load("irb6660"), LoadSpec(link="flange", mass=50, radius=0.15, at=(0.1, 0, 0.15)))
    pose = {"m1": 0.0, "m2": 0.2, "m3": 0.2, "m4": 0.3, "m5": 0.6, "m6": 0.2}
    drives = read_drives(EXAMPLES / "irb6660_drives.yaml", robot)
    spec = ControllerFile(law="pd", rate=2000, bandwidth=4, damping=0.7, torque_limits=False)
    chirped = Chirp(robot, drives, spec, pose)
    expected = chirped.eigenvalues()
    for k, pole in enumerate(expected):
        wanted = pole.imag / (2 * np.pi)
        found = chirped.peak_near(wanted)
        away = 100 * abs(found / wanted - 1)
        yield Row(
            f"IRB 6660, resonance {k + 1} of the closed loop: eigenvalue; by the chirp [Hz]; apart [%]", "<= 1",
            f"{wanted:.2f} (damping {-pole.real / abs(pole):.3f}); {found:.2f}; {away:.2f}", bool(away <= 1),
        )  # fmt: skip


class Chirp:
    """The response of a robot with elastic drives to chirps of torque about a pose, one motor after the other."""

    def __init__(
        self, robot: Robot, drives: Drives, spec: ControllerFile, pose: dict[str, float], seconds: float = 2.0
    ):
        self.robot, self.drives, self.spec, self.pose = robot, drives, spec, pose
        still = FourierMotion(rate=500, duration=seconds, period=1, centre=pose)
        self.pair = prepare(robot, robot, still, spec)
        self.gains = self.pair[1].feedback
        self._response: tuple[np.ndarray, np.ndarray] | None = None

    def eigenvalues(self) -> np.ndarray:
        """Poles [1/s] of the held loop above FAR Hz with positive frequency, in order: M and K by differences, no code of the package's dynamics."""
        M, K, c = self._linear()
        n, h = len(c), 1 / self.spec.rate
        k, d, rotors = (np.diag(x) for x in (self.drives.stiffness, self.drives.damping, self.drives.rotors))
        Z = np.zeros((n, n))
        mass, stiff, damp = (
            np.block([[M, Z], [Z, rotors]]),
            np.block([[k + K, -k], [-k, k]]),
            np.block([[d, -d], [-d, d]]),
        )
        A = np.zeros((5 * n, 5 * n))
        A[: 2 * n, 2 * n : 4 * n] = np.eye(2 * n)
        A[2 * n : 4 * n] = np.linalg.solve(mass, np.hstack([-stiff, -damp, np.vstack([Z, np.eye(n)])]))
        step, term = np.eye(5 * n), np.eye(5 * n)  # of a 64th of a sample, by the series
        for i in range(1, 20):
            term = term @ A * (h / 64) / i
            step = step + term
        step = np.linalg.matrix_power(step, 64)
        F, G = step[: 4 * n, : 4 * n], step[: 4 * n, 4 * n :]
        x = np.eye(5 * n)  # joints, rotors, rates, last error
        error = -x[n : 2 * n]
        tau = self.gains.P @ error + self.gains.D @ (error - x[4 * n :]) / h
        values = np.linalg.eigvals(np.vstack([F @ x[: 4 * n] + G @ tau, error]))
        poles = np.log(values[np.abs(values) > 1e-6].astype(complex)) / h
        return np.array(
            sorted((p for p in poles if p.imag > 2 * np.pi * FAR and p.imag < 0.999 * np.pi / h), key=lambda p: p.imag)
        )

    def _linear(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass matrix and stiffness of gravity along the motors (6, 6), by Pinocchio's tree and differences, where the springs hold the pose."""
        robot, h = self.robot, 1e-4
        model, data = robot.model, robot.model.createData()
        c = np.array([self.pose[m] for m in robot.motors.names])

        def joints(x: np.ndarray) -> np.ndarray:
            return robot.at_rest(x[None]).q[0]

        def height(x: np.ndarray) -> float:
            return float(pin.computePotentialEnergy(model, data, joints(x)))

        T = np.stack([(joints(c + h * u) - joints(c - h * u)) / (2 * h) for u in np.eye(6)], axis=1)
        M = T.T @ pin.crba(model, data, joints(c)) @ T
        K = np.empty((6, 6))
        for i, u in enumerate(np.eye(6)):
            for j, v in enumerate(np.eye(6)):
                ends = [s * t * height(c + h * (s * u + t * v)) for s in (1, -1) for t in (1, -1)]
                K[i, j] = sum(ends) / (4 * h**2)
        return M, K, c

    def response(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies (F,) [Hz], and the largest singular value (F,) of what twists of the drives answer to torques."""
        if self._response is not None:
            return self._response
        robot, controller = self.pair
        t = np.arange(len(controller.reference.c)) / self.spec.rate
        columns = []
        top = 1.3 * self.eigenvalues()[-1].imag / (2 * np.pi)
        active = t < 0.8 * t[-1]  # the rest is for it to die out
        wave = np.sin(2 * np.pi * (5 * t + (top - 5) / (2 * 0.8 * t[-1]) * t**2)) * active
        for i, size in enumerate(self.drives.rotors):
            pushes = np.zeros((len(t), 6))
            pushes[:, i] = 2 * size * wave
            found = track_motion(robot, controller, drives=self.drives, pushes=pushes)
            twist = twists(robot, found.joints)
            columns.append(
                np.fft.rfft(twist - twist[0], axis=0, n=4 * len(t)) / np.fft.rfft(pushes[:, i], n=4 * len(t))[:, None]
            )
        frequency = np.fft.rfftfreq(4 * len(t), 1 / self.spec.rate)
        part = (frequency > FAR) & (frequency < top / 1.05)
        sizes = np.linalg.svd(np.stack(columns, axis=2)[part], compute_uv=False)
        self._response = frequency[part], sizes
        return self._response

    def peak_near(self, wanted: float) -> float:
        """Frequency [Hz] of the peak of a singular value nearest to a frequency, by a parabola through three values."""
        frequency, sizes = self.response()
        peaks = []
        for x in np.log(sizes[:, :3].T):
            for i in np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])) + 1:
                shift = (x[i - 1] - x[i + 1]) / (2 * (x[i - 1] - 2 * x[i] + x[i + 1]))
                peaks.append(frequency[i] + shift * (frequency[1] - frequency[0]))
        return float(min(peaks, key=lambda f: abs(f - wanted)))


def many(x: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in x)


def several(x: np.ndarray) -> str:
    return " ".join(f"{value:.1f}" for value in x)
