"""What is mutated: small, valid files of every kind, and the commands that read them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUMBERS = (
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "true",
    "2_6.5",
    "",
    "x",
    "1,2",
    "1,5,,2",
    "-0",
    "99999999999999999999",
)

FILES = {
    "motion.yaml": "rate: 200\nduration: 2\nperiod: 1\ncoordinates: [x, y, z]\ncentre: {x: 0, y: 0, z: -0.0954}\n"
    "sin: {x: [0.05], z: [0.03, 0.01]}\ncos: {y: [0.05]}\n",
    "run.yaml": "robot: delta3.yaml\nfit: [{file: log.csv}]\nheld_out: [{file: other.csv}]\nunits: {angle: rad}\n"
    "preparation: {filter: {order: 4, cutoff: 40}}\nrows: {cut: 20, every: 4}\nbounds: {mass: [0.001, 5.0]}\n",
    # of a controller: short, so that a mutated duration or rate asks for no simulation that takes minutes
    "short.yaml": "rate: 200\nduration: 0.02\nperiod: 1\ncoordinates: [x, y, z]\ncentre: {x: 0, y: 0, z: -0.0954}\n"
    "sin: {x: [0.05]}\n",
    "payload.yaml": "link: platform\nmass: 0.5\nradius: 0.02\nlength: 0.05\nat: [0.01, 0, -0.03]\n",
    "controller.yaml": "law: feedforward\nrate: 1000\nbandwidth: 20\ndamping: 0.7\nderivative_filter: 50\nmodel: delta3.yaml\n"
    "delay: 0\ntorque_limits: true\ndisturbance: {percent: 1, up_to: 10, seed: 0}\n",
    "track.yaml": "noise: 0.05\nscaled: [rod_1a, rod_2a, rod_3a, platform]\n"
    "symmetry: {arm_1: [m my mz Ixx Ixy Ixz Iyz Izz = prior]}\npayload: {link: platform}\n",
    "plan.yaml": "robot: delta3.yaml\npath:\n  kind: lines\n  coordinates: [x, y, z]\n  points: [[0, 0, -0.09], [0.02, 0, -0.09], [0.02, 0.02, -0.09]]\n"
    "  radius: 0.005\nmargins: {torque: 0.1}\nends: [rest, rest]\n",
    "friction.yaml": "robot: delta3.yaml\nsweeps:\n  at: {phi1: 0, phi2: 0, phi3: 0}\n"
    "  speeds: {slowest: 1.0e-2, fastest: 0.5, count: 5}\n  rate: 100\n  travel: 0.01\nlogs: [{file: log.csv}]\nmodel: linear\n",
    "excite.yaml": "robot: delta3.yaml\ncoordinates: [x, y, z]\nperiod: 2\nharmonics: 2\nbandwidth: 10\nmargin: 0.05\nnoise: {phi1: 0.1, phi2: 0.1, phi3: 0.1}\nseed: 1\n",
    "tool.yaml": "name: gripper\nlink: platform\nmass: 0.2\ncentre: [0, 0, -0.03]\nframes: {tip: {at: [0, 0, -0.05]}}\n",
    "swing.yaml": "rate: 100\nduration: 2\nperiod: 2\ncoordinates: [phi1, phi2, phi3, psi]\n"
    "centre: {phi1: 0.25, phi2: 0.25, phi3: 0.25, psi: 0}\nsin: {phi1: [0.1], phi3: [0.05, 0.05]}\ncos: {phi2: [0.1], psi: [0.5]}\n",
    "wrist.yaml": "rate: 50\nduration: 2\nperiod: 2\ncoordinates: [m1, m2, m3, m4, m5, m6]\ncentre: {m1: 0, m2: 0, m3: 0, m4: 0, m5: 0.5, m6: 0}\n"
    "sin: {m1: [0.1], m4: [0.2], m6: [0.5]}\ncos: {m2: [0.1], m3: [0.1], m5: [0.2]}\n",
    "turn.yaml": "rate: 100\nduration: 2\nperiod: 2\ncoordinates: [x, y, phi]\ncentre: {x: 0.0, y: 0.0, phi: 0.0}\n"
    "sin: {x: [0.05], phi: [0.1]}\ncos: {y: [0.03]}\n",
}  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command line; `files` are those of the corpus that may be mutated, `options` take a number, `share` of all cases."""

    line: str
    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    share: float = 1.0


ROBOT = ("delta3.yaml", "delta3.urdf")
COMMANDS = (
    Command("check delta3.yaml", ROBOT, (), 3),
    Command("check arm.xml", ("arm.xml",), (), 2),
    Command("pose delta3.yaml --at 0.1,0.2,0.3", ROBOT, ("--at",), 2),
    Command("repair delta3.yaml --out out", ROBOT, (), 0.5),
    Command("show delta3.yaml --motion log.csv --export out.html", (*ROBOT, "log.csv"), ("--limit",), 1),
    Command("simulate delta3.yaml --motion motion.yaml --out out.csv --noise 0.05,0.05,0.05 --seed 1",
            (*ROBOT, "motion.yaml"), ("--noise", "--bias", "--seed", "--encoder-bits"), 3),
    Command("simulate delta3.yaml --motion motion.yaml --payload payload.yaml --out out.parquet", ("payload.yaml", "motion.yaml"), (), 1),
    Command("simulate delta3.yaml --motion short.yaml --controller controller.yaml --out out.csv", ("controller.yaml", "short.yaml"), (), 1),
    Command("predict delta3.yaml log.csv --out out.csv", (*ROBOT, "log.csv"), (), 3),
    Command("predict delta3.yaml log.csv --params fit --out out.csv",
            ("log.csv", "fit/result.json", "fit/run.yaml", "fit/parameters.npz"), (), 2),
    Command("predict delta3.yaml log.parquet --out out.csv", ("log.parquet",), (), 1),
    Command("track delta3.yaml log.parquet --settings track.yaml --out out", ("log.parquet",), (), 0.5),
    Command("forces delta3.yaml log.csv --out out.csv", (*ROBOT, "log.csv"), ("--limit",), 2),
    Command("joints delta3.yaml log.csv --out out.csv", (*ROBOT, "log.csv"), (), 1),
    Command("identify run.yaml --out out", ("run.yaml", "log.csv", "other.csv", *ROBOT), (), 1),
    Command("compare fit fit", ("fit/result.json", "fit/run.yaml", "fit/parameters.npz"), (), 1),
    Command("friction friction.yaml --protocol --out out", ("friction.yaml", *ROBOT), (), 1),
    Command("friction friction.yaml --out out", ("friction.yaml", "log.csv"), (), 1),
    Command("track delta3.yaml log.csv --settings track.yaml --out out", ("track.yaml", "log.csv"), (), 1),
    Command("plan plan.yaml --out out", ("plan.yaml", *ROBOT), (), 0.5),
    Command("excite excite.yaml --out out", ("excite.yaml", *ROBOT), (), 0.5),
    Command("forces irb360.yaml strut.csv --reduced --bar platform --tool tool.yaml --limit 60 --out out.parquet --json",
            ("irb360.yaml", "irb360.urdf", "strut.csv", "tool.yaml"), ("--limit",), 1),
    Command("forces irb360.yaml strut.csv --compare cell.csv --out out.csv", ("cell.csv", "strut.csv", "irb360.yaml"), (), 1),
    Command("predict dualv.yaml turn.csv --internal --payload body.yaml --out out.csv --json",
            ("dualv.yaml", "dualv.urdf", "turn.csv", "body.yaml"), (), 1),
    Command("simulate dualv.yaml --motion turn.yaml --internal 1 --out out.csv --json",
            ("dualv.yaml", "dualv.urdf", "turn.yaml"), ("--internal", "--noise", "--bias"), 1),
    Command("check irb2400.yaml --json", ("irb2400.yaml", "irb2400.urdf"), (), 1),
    Command("pose irb2400.yaml --reach 0.9,0.2,0.6,180,0,180 --frame T --degrees", ("irb2400.yaml", "irb2400.urdf"), ("--reach",), 1),
    Command("pose irb2400.yaml --at 10,20,-10,30,1,0 --degrees --velocity 0,0.1,0,0,0,0", ("irb2400.yaml",), ("--velocity", "--at"), 1),
    Command("pose irb2400.yaml --motion wrist.csv --json", ("wrist.csv", "irb2400.yaml", "irb2400.urdf"), (), 1),
    Command("track delta3.yaml log.csv other.csv --settings track.yaml --params fit --out out --json",
            ("track.yaml", "log.csv", "other.csv", "fit/result.json"), (), 0.5),
    Command("track delta3.yaml other.csv --settings track.yaml --resume tracked/state.npz --out out", ("tracked/state.npz", "other.csv"), (), 0.5),
    Command("show delta3.yaml --motion log.csv --forces --limit 20 --params fit --export out.html", ("log.csv", "fit/result.json"), ("--limit",), 0.5),
    Command("design design.yaml --out out", ("design.yaml",), (), 0.3),
    Command("calibrate calibrate.yaml --out out", ("calibrate.yaml", "irb360_calibration/points.csv", "irb360_calibration/path.csv"), (), 0.3),
    Command("design poses.yaml --for calibration --out out", ("poses.yaml",), (), 0.2),
    Command("stiffness stiffness.yaml --out out", ("stiffness.yaml", "irb6660_stiffness/measurements.csv"), (), 0.3),
)  # fmt: skip

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper" pos="0 0 0.1"><joint name="a" type="hinge" axis="0 1 0" range="-2 2" armature="0.01" damping="0.1"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.002"/>
<body name="lower" pos="0 0 0.2"><joint name="b" type="hinge" axis="0 1 0"/>
<inertial pos="0.02 0 0.1" mass="0.5" diaginertia="0.005 0.005 0.001"/></body></body></worldbody>
<actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>
"""


def build(folder: Path, robodyn) -> None:
    """Write the corpus into a folder; `robodyn` calls a command there with a list of words."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "arm.xml").write_text(ARM)
    for robot in ("delta3", "irb360", "irb2400", "dualv"):
        for ending in ("yaml", "urdf"):
            shutil.copy(ROOT / "urdf" / f"{robot}.{ending}", folder)
    shutil.copy(ROOT / "examples" / "dualv_payload_body.yaml", folder / "body.yaml")
    shutil.copytree(ROOT / "examples" / "irb360_calibration", folder / "irb360_calibration")
    for name, of in (("calibrate", "irb360_calibration"), ("poses", "irb360_poses")):
        text = (ROOT / "examples" / f"{of}.yaml").read_text()
        (folder / f"{name}.yaml").write_text(text.replace("robot: irb360\n", "robot: irb360.yaml\n"))
    (folder / "cell.csv").write_text("t,force\n" + "".join(f"{k / 50},{20 + k % 7}\n" for k in range(100)))
    shutil.copytree(ROOT / "examples" / "irb6660_stiffness", folder / "irb6660_stiffness")
    shutil.copy(ROOT / "examples" / "irb6660_stiffness.yaml", folder / "stiffness.yaml")
    shutil.copy(ROOT / "examples" / "irb6660_design.yaml", folder / "design.yaml")
    noise = "--noise 0.05,0.05,0.05 --seed"
    for name, seed in (("log.csv", 1), ("other.csv", 2), ("log.parquet", 1)):
        robodyn(f"simulate delta3.yaml --motion motion.yaml --out {name} {noise} {seed}".split())
    robodyn(["identify", "run.yaml", "--out", "fit"])
    robodyn(["track", "delta3.yaml", "log.csv", "--settings", "track.yaml", "--out", "tracked"])
    robodyn(["simulate", "irb360.yaml", "--motion", "swing.yaml", "--out", "strut.csv"])
    robodyn(["simulate", "irb2400.yaml", "--motion", "wrist.yaml", "--out", "wrist.csv"])
    robodyn(["simulate", "dualv.yaml", "--motion", "turn.yaml", "--internal", "1", "--out", "turn.csv"])
