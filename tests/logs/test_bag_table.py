"""Logs from bags of ROS, which the tests write with the library's own writers."""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.bag_table import BagTable
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.table import content_hash
from robodyn_pin.logs.writing import write_log

rosbag1 = pytest.importorskip("rosbags.rosbag1", reason="the extra 'ros' is not installed")
rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="the extra 'ros' is not installed")
typesys = pytest.importorskip("rosbags.typesys", reason="the extra 'ros' is not installed")

START = 1_700_000_000 * 10**9  # [ns]
KINDS = "mcap", "sqlite3", "ros1"


class Bag:
    """Writes messages, of either generation of ROS."""

    def __init__(self, path: Path, kind: str) -> None:
        self.kind = kind
        self.store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC if kind == "ros1" else typesys.Stores.ROS2_HUMBLE)
        plugin = {"mcap": rosbag2.StoragePlugin.MCAP, "sqlite3": rosbag2.StoragePlugin.SQLITE3}.get(kind)
        self.path = path.with_suffix(".bag") if kind == "ros1" else path
        self.writer = (
            rosbag1.Writer(self.path) if kind == "ros1" else rosbag2.Writer(path, version=9, storage_plugin=plugin)
        )
        self.writer.open()
        self.connections: dict[str, object] = {}

    def write(self, topic: str, received: int, name: str, *fields: object) -> None:
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, name, typestore=self.store)
        encode = self.store.serialize_ros1 if self.kind == "ros1" else self.store.serialize_cdr
        self.writer.write(self.connections[topic], received, encode(self.store.types[name](*fields), name))

    def header(self, stamp: int) -> object:
        time = self.store.types["builtin_interfaces/msg/Time"](stamp // 10**9, stamp % 10**9)
        more = (0,) if self.kind == "ros1" else ()
        return self.store.types["std_msgs/msg/Header"](*more, time, "base")

    def joint_state(self, topic: str, stamp: int, names: list[str], q: np.ndarray, tau: np.ndarray) -> None:
        fields = self.header(stamp), names, np.array(q, float), np.zeros(0), np.array(tau, float)
        self.write(topic, stamp + 3_000_000, "sensor_msgs/msg/JointState", *fields)


def motion(robot: rp.Robot) -> Log:
    t = np.arange(600) / 200
    q = 0.3 + 0.05 * np.sin(2 * np.pi * 0.7 * t[:, None] + np.arange(3))
    tau = rp.inverse_dynamics(
        robot, q, np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    ) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    return Log("log", t, q, tau, simulated=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bag_says_what_a_table_says(kind, tmp_path):
    """Names in another order than the robot's motors, a gripper's messages between: the rows are those of the table."""
    robot = rp.load("delta3")
    log, bag = motion(robot), Bag(tmp_path / "bag", kind)
    names = list(robot.motors.names)
    for k in range(log.size):
        stamp = START + round(log.t[k] * 1e9)
        bag.joint_state("/joint_states", stamp, names[::-1], log.q[k, ::-1], log.tau[k, ::-1])
        if k % 7 == 0:
            bag.joint_state("/joint_states", stamp + 1, ["gripper"], [0.01], [0.2])
    bag.writer.close()
    found = rp.read_log(bag.path, robot)
    np.testing.assert_array_equal(found.q, log.q)
    np.testing.assert_array_equal(found.tau, log.tau)
    np.testing.assert_allclose(found.t, log.t, atol=1e-9)
    assert found.quality.unused == ("q_gripper", "tau_gripper")


def test_an_identification_from_a_bag_is_that_of_the_table(tmp_path):
    robot = rp.load("delta3")
    log, bag = motion(robot), Bag(tmp_path / "bag", "mcap")
    for k in range(log.size):
        bag.joint_state(
            "/joint_states", START + round(log.t[k] * 1e9), ["a", "b", "c"], np.rad2deg(log.q[k]), log.tau[k]
        )
    bag.writer.close()
    write_log(tmp_path / "log.csv", log, robot, "SIMULATED")
    settings = {"robot": "delta3", "instruments": False, "preparation": {"filter": {"order": 4, "cutoff": 20}}}
    named = dict(zip(robot.motors.names, "abc", strict=True))
    of_bag = {
        "fit": [{"file": "bag"}],
        "units": {"angle": "deg"},
        "columns": {f"{p}_{m}": f"{p}_{c}" for m, c in named.items() for p in ("q", "tau")},
    }
    results = []
    for k, run in enumerate((of_bag, {"fit": [{"file": "log.csv"}]})):
        path = tmp_path / f"run{k}.yaml"
        path.write_text(yaml.safe_dump(settings | run))
        results.append(rp.execute(read_run(path), tmp_path))
    np.testing.assert_allclose(results[0].wls.values, results[1].wls.values, rtol=1e-6, atol=1e-9)
    assert results[0].logs[0].sha256 == content_hash(tmp_path / "bag")


def test_other_topics_are_read_between_their_messages(tmp_path):
    """Two arms and a load cell that is sampled at a third of their rate: a straight line stays a straight line."""
    bag = Bag(tmp_path / "bag", "mcap")
    vector = bag.store.types["geometry_msgs/msg/Vector3"]
    wrench = bag.store.types["geometry_msgs/msg/Wrench"]
    for k in range(91):
        stamp = START + k * 10**7
        for side in ("left", "right"):
            bag.joint_state(f"/{side}/joint_states", stamp, ["j"], [k if side == "left" else -k], [1.0])
        if k % 3 == 0:
            force = wrench(vector(0.0, 0.0, 2.0 * k), vector(0.0, 0.0, 0.0))
            bag.write("/cell", stamp, "geometry_msgs/msg/WrenchStamped", bag.header(stamp), force)
    bag.writer.close()
    table = BagTable(tmp_path / "bag")
    assert "/left/joint_states.q_j" in table.headers
    cells = table.read(["t", "/right/joint_states.q_j", "/cell.wrench.force.z"])
    np.testing.assert_array_equal(cells["/right/joint_states.q_j"], -np.arange(91.0))
    np.testing.assert_allclose(cells["/cell.wrench.force.z"], 2 * np.arange(91.0), atol=1e-9)
    np.testing.assert_allclose(cells["t"], np.arange(91) / 100, atol=1e-9)


def test_rows_without_the_other_topic_are_left_out_and_pictures_are_no_columns(tmp_path):
    """A load cell that starts 0.3 s late and whose messages overtake each other; a topic of large arrays beside."""
    bag = Bag(tmp_path / "bag", "mcap")
    for k in range(100):
        bag.joint_state("/joint_states", START + k * 10**7 + 4 * 10**6, ["j"], [k + 0.4], [1.0])
    vector = bag.store.types["geometry_msgs/msg/Vector3"]
    for received, k in enumerate((30, 34, 31, 33, 32, *range(35, 80))):
        stamp = START + k * 10**7
        bag.write(
            "/cell",
            stamp // 10**9 * 10**9 + received,
            "geometry_msgs/msg/Vector3Stamped",
            bag.header(stamp),
            vector(3.0 * k, 0.0, 0.0),
        )
    layout = bag.store.types["std_msgs/msg/MultiArrayLayout"]([], 0)
    bag.write("/picture", START, "std_msgs/msg/Float64MultiArray", layout, np.zeros(5000))
    bag.writer.close()
    table = BagTable(tmp_path / "bag")
    assert not [h for h in table.headers if h.startswith("/picture.data")]
    cells = table.read(["t", "q_j", "/cell.vector.x"])
    np.testing.assert_array_equal(cells["q_j"], np.arange(30, 79) + 0.4)
    np.testing.assert_allclose(cells["/cell.vector.x"], 3 * cells["q_j"].to_numpy(), atol=1e-9)


def test_what_is_no_bag_is_named(tmp_path, monkeypatch):
    robot = rp.load("delta3")
    bag = Bag(tmp_path / "bag", "mcap")
    for k in range(50):
        bag.joint_state("/joint_states", START + k * 10**7, ["j"], [k], [1.0])
    bag.writer.close()
    (file,) = (tmp_path / "bag").glob("*.mcap")
    with pytest.raises(UnknownName, match=r"q_.*t, q_j, tau_j"):
        rp.read_log(file, robot)
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(BadLog, match=r"cut\.mcap cannot be read as a bag of ROS: .*reindex"):
        rp.read_log(cut, robot)
    (tmp_path / "text.bag").write_text("t,q\n")
    with pytest.raises(BadLog, match=r"text\.bag cannot be read as a bag of ROS"):
        rp.read_log(tmp_path / "text.bag", robot)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(BadLog, match=r"need the extra 'ros': pip install 'robodyn_pin\[ros\]'"):
        rp.read_log(file, robot)
