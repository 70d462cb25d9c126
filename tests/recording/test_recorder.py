"""A controller's stream into a log, from a simulated controller over the loopback interface; all data are simulated."""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from robodyn_pin.commands.cli import app
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.units import Units
from robodyn_pin.logs.writing import write_log
from robodyn_pin.recording import recorder
from robodyn_pin.recording.packets import encode
from robodyn_pin.recording.player import Faults, Sent, datagrams, resampled, send
from robodyn_pin.recording.recorder import Recorder, Recording, listen, record
from robodyn_pin.robot.robot import Robot, load

pytest.importorskip("ABBRobotEGM", reason="EGM's messages are those of the extra 'abb'")
DEGREES = Units(angle="deg")
PACE = 2.5  # times real time: a busy machine lets packets wait for half a second before it loses them


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load("irb2400")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(recorder, "QUIET", 0.7)


def made_log(seconds: float = 10.0) -> Log:
    t = np.arange(round(250 * seconds)) / 250
    q = np.sin(t[:, None] * np.arange(1, 7) / 3)
    return Log("made", t, q, 100 * np.cos(q), simulated=True)


def over_the_wire(sending, duration: float = 60.0, pace: float = PACE, **options) -> Recording:
    with listen(0, "127.0.0.1") as listener:
        to = listener.getsockname()
        sender = threading.Thread(target=lambda: list(send(sending, to, pace)))
        sender.start()
        found = record(listener, 6, duration, wait=5, **options)
        sender.join()
    return found


def test_every_packet_of_ten_seconds_at_250_hz_is_in_the_log(robot, tmp_path):
    log = made_log()
    found = over_the_wire(datagrams(log, DEGREES, Faults())[0])
    summary = found.summary(robot, DEGREES)
    assert [summary[x] for x in ("packets", "dropped", "repeated", "reordered", "rejected")] == [2500, 0, 0, 0, 0]
    assert summary["rate"] == pytest.approx(250, rel=1e-6)
    assert summary["simulated"]
    assert summary["cautions"] == []
    write_log(tmp_path / "log.csv", found.log(DEGREES, "log"), robot, "SIMULATED stream")
    again = read_log(tmp_path / "log.csv", robot)
    assert again.simulated
    assert np.abs(again.t - log.t).max() < 1e-6
    assert np.abs(again.q - log.q).max() < 1e-12
    assert np.abs(again.tau - log.tau).max() < 1e-12


def test_faults_of_the_network_are_counted_and_named_by_sequence_number(robot):
    faults = Faults(dropped=0.02, repeated=0.02, reordered=0.03, garbage=0.05, seed=1)
    sending, sent = datagrams(made_log(4.0), DEGREES, faults, first=2**32 - 300)  # numbers turn over on the way
    found = over_the_wire(sending)
    assert min(len(sent.dropped), len(sent.repeated), len(sent.reordered), sent.garbage) > 5
    missing = [after + k for after, count in found.gaps for k in range(1, count + 1)]
    assert [n % 2**32 for n in missing] == [n % 2**32 for n in sent.dropped]
    assert (found.repeated, found.reordered) == (len(sent.repeated), len(sent.reordered))
    assert sum(found.rejected.values()) == sent.garbage
    assert len(found.packets) == 1000 - len(sent.dropped)
    log = found.log(DEGREES, "log")
    assert (np.diff(log.t) > 0).all()
    left = np.setdiff1d(np.arange(1000), np.array(sent.dropped) - 2**32 + 300)
    assert np.abs(log.q - made_log(4.0).q[left]).max() < 1e-12


def test_recording_ends_when_the_controllers_clock_says_so():
    found = over_the_wire(datagrams(made_log(4.0), DEGREES, Faults(reordered=0.2, seed=2))[0], duration=2.0)
    assert len(found.packets) == 500
    assert found.ended == "time was up"


def test_a_packet_that_is_overtaken_by_the_end_is_waited_for():
    order = [*range(499), 500, 499, *range(501, 540)]
    with listen(0, "127.0.0.1") as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for k in order:
            line.sendto(encode(k, 0.004 * k, np.zeros(6), None), listener.getsockname())
        found = record(listener, 6, 2.0)
    assert list(found.numbers) == list(range(500))
    assert found.ended == "time was up"


def test_nothing_is_ever_sent_to_the_controller():
    with listen(0, "127.0.0.1") as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as controller:
        controller.settimeout(0.2)
        for k in range(20):
            controller.sendto(encode(k, 0.004 * k, np.zeros(6), None), listener.getsockname())
        assert len(record(listener, 6, 10.0).packets) == 20
        assert listener.gettimeout() <= recorder.QUIET  # the wait for a first packet would be 30 s
        with pytest.raises(TimeoutError):
            controller.recv(100)


def test_absent_torque_is_said_plainly(robot, tmp_path):
    found = over_the_wire(datagrams(made_log(1.0), DEGREES, Faults(), torque=False)[0])
    assert "absent: this controller streams none" in found.summary(robot, DEGREES)["torque"]
    log = found.log(DEGREES, "log")
    assert log.tau is None
    write_log(tmp_path / "log.csv", log, robot)
    with pytest.raises(UnknownName, match="tau_m1"):
        read_log(tmp_path / "log.csv", robot)
    partly = (
        datagrams(made_log(1.0), DEGREES, Faults())[0][:100]
        + datagrams(made_log(1.0), DEGREES, Faults(), False)[0][100:]
    )
    mixed = over_the_wire(partly)
    assert "in 100 of 250 packets only, so left out" in mixed.summary(robot, DEGREES)["torque"]
    assert mixed.log(DEGREES, "log").tau is None


def test_units_that_cannot_be_right_are_a_caution(robot):
    found = over_the_wire(datagrams(made_log(1.0), DEGREES, Faults())[0])
    assert "is the angle streamed in rad?" in found.summary(robot, Units(angle="rad"))["cautions"][0]


def test_a_second_sender_is_left_alone():
    first, second = ([encode(k, 0.004 * k, np.full(6, x), None) for k in range(50)] for x in (1.0, 2.0))
    with listen(0, "127.0.0.1") as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
            for x, y in zip(first, second, strict=True):
                a.sendto(x, listener.getsockname())
                b.sendto(y, listener.getsockname())
        found = record(listener, 6, 10.0)
    assert found.strangers == 50
    assert {p.q[0] for p in found.packets} == {1.0}


def test_a_stream_that_begins_anew_ends_the_recording():
    recorder = Recorder(6)
    for k in range(6000, 6010):
        recorder.take(encode(k, 0.004 * k, np.zeros(6), None))
    with pytest.raises(RobodynError, match="began anew: after packet 6009 came 3"):
        recorder.take(encode(3, 0.0, np.zeros(6), None))


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def when_listened(monkeypatch, action) -> threading.Thread:
    """Run an action as soon as the recorder listens; to ask the port itself would take it from the recorder."""
    listens = threading.Event()

    def told(*words) -> socket.socket:
        listener = listen(*words)
        listens.set()
        return listener

    monkeypatch.setattr(recorder, "listen", told)
    monkeypatch.setattr(recorder, "QUIET", 5.0)  # sender and recorder share this process, and a busy machine
    thread = threading.Thread(target=lambda: listens.wait() and action())
    thread.start()
    return thread


def recorded(port: int, *words: str):
    return CliRunner().invoke(app, ["record", "irb2400", "--egm", "--port", str(port), "--wait", "10", *words])


def test_a_stream_of_garbage_is_rejected_with_a_count(tmp_path, monkeypatch):
    port, rng = free_port(), np.random.default_rng(3)
    rubbish = [(0.001 * k, rng.bytes(100)) for k in range(300)]
    sender = when_listened(monkeypatch, lambda: list(send(rubbish, ("127.0.0.1", port))))
    result = recorded(port, "--units", "angle=deg", "--out", str(tmp_path / "log.csv"))
    sender.join()
    assert isinstance(result.exception, RobodynError)
    assert "300 datagrams rejected (no EGM message" in str(result.exception)
    assert not (tmp_path / "log.csv").exists()


def test_commands_stream_and_record(robot, tmp_path, monkeypatch):
    write_log(tmp_path / "played.csv", made_log(1.0), robot, "SIMULATED")
    port = free_port()
    words = ["stream", "irb2400", str(tmp_path / "played.csv"), "--port", str(port), "--dropped", "0.1", "--json"]
    answers = []
    sender = when_listened(monkeypatch, lambda: answers.append(CliRunner().invoke(app, words)))
    result = recorded(port, "--units", "angle=deg,torque=N m", "--out", str(tmp_path / "log.csv"))
    sender.join()
    assert result.exit_code == 0
    assert "SIMULATED" in (tmp_path / "log.csv").read_text().splitlines()[0]
    sent = json.loads(answers[0].stdout)
    assert f"dropped {sent['dropped']} (" in result.stdout
    assert read_log(tmp_path / "log.csv", robot).size == 250 - sent["dropped"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--units", "deg", "--out", "log.csv"), "--units expects 'angle=deg,torque=N m'"),
        (("--units", "torque=N m", "--out", "log.csv"), "--units expects"),
        (("--units", "angle=grad", "--out", "log.csv"), "--units: key 'angle'"),
        (("--units", "angle=deg", "--out", "log.txt"), "written as .csv or .parquet"),
        (("--units", "angle=deg", "--out", "log.csv", "--wait", "0.2"), "nothing arrived on UDP port"),
    ],
)
def test_a_recording_that_cannot_be_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = recorded(free_port(), *words)
    assert isinstance(result.exception, RobodynError)
    assert said in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_and_a_stream_that_is_not_named_are_one_sentence():
    with listen(0) as taken, pytest.raises(RobodynError, match="cannot listen on UDP port"):
        listen(taken.getsockname()[1])
    result = CliRunner().invoke(app, ["record", "irb2400", "--units", "angle=deg", "--out", "log.csv"])
    assert "--egm" in str(result.exception)


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ABBRobotEGM._egm_protobuf", None)
    monkeypatch.setitem(sys.modules, "ABBRobotEGM", None)
    result = recorded(free_port(), "--units", "angle=deg", "--out", str(tmp_path / "log.csv"))
    assert "pip install 'robodyn_pin[abb]'" in str(result.exception)


def test_resampling_meets_the_samples_and_faults_leave_the_ends():
    log = made_log(1.0)
    finer = resampled(log, 500)
    assert np.abs(finer.q[::2] - log.q).max() < 1e-12
    sending, sent = datagrams(log, DEGREES, Faults(dropped=1.0))
    assert isinstance(sent, Sent)
    assert len(sending) == 2


@pytest.mark.parametrize(("asked", "bound"), [((), "0100007F"), (("--listen", "0.0.0.0"), "00000000")])
def test_recording_hears_this_machine_alone_unless_an_address_is_given(tmp_path, asked, bound):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("robodyn")
    command = [program, "record", "irb2400", "--egm", "--units", "angle=deg,torque=N m", "--port", str(port), *asked]
    process = subprocess.Popen([*command, "--out", tmp_path / "log.csv"], stderr=subprocess.PIPE, text=True)
    try:
        found: list[str] = []
        while not found and process.poll() is None:
            time.sleep(0.1)
            rows = [row.split() for row in Path("/proc/net/udp").read_text().splitlines()[1:]]
            found = [row[1].partition(":")[0] for row in rows if int(row[1].partition(":")[2], 16) == port]
        assert found == [bound]
        assert f":{port:04X} " not in Path("/proc/net/udp6").read_text()
    finally:
        process.kill()
        process.communicate()


def test_an_address_of_another_machine_is_refused_in_one_sentence(tmp_path, robodyn):
    done = robodyn(
        "record", "irb2400", "--egm", "--units", "angle=deg", "--listen", "192.0.2.1", "--out", tmp_path / "x.csv"
    )
    assert done.returncode == 1
    assert "cannot listen on UDP port 6510 of '192.0.2.1'" in done.stderr
    assert done.stderr.count("\n") == 1
