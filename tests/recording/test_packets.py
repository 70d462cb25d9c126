"""Packets of EGM one by one: read as the protocol's own client reads them, and refused with a reason."""

import socket

import numpy as np
import pytest

from robodyn_pin.recording.packets import NotEgm, decode, encode, messages

pytest.importorskip("ABBRobotEGM", reason="EGM's messages are those of the extra 'abb'")


def test_packets_are_those_of_the_protocol_as_its_own_client_reads_them():
    from ABBRobotEGM import EGM

    with EGM(port=0) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        q, tau = np.arange(6) * 10.5, np.arange(6) - 2.5
        line.sendto(encode(7, 1.7e9 + 0.004, q, tau), ("127.0.0.1", client.socket.getsockname()[1]))
        received, state = client.receive_from_robot(timeout=300)
    assert received
    assert state.header.seqno == 7
    assert np.array_equal(state.joint_angles, q)
    assert np.array_equal(state.torque_ref, tau)
    assert state.clock[1] == 4000


def test_torques_may_come_as_test_signals():
    message = messages().EgmRobot()
    message.ParseFromString(encode(1, 0.0, np.zeros(6), None))
    message.testSignals.signals.extend([1.0, 2, 3, 4, 5, 6])
    assert decode(message.SerializeToString(), 6).tau is None
    assert decode(message.SerializeToString(), 6, "test-signals").tau == pytest.approx([1, 2, 3, 4, 5, 6])


BARE = {
    "no EGM message": b"\xff\xff\xff",
    "no data packet with a sequence number": b"",
    "5 joints in place of 6": encode(1, 0.0, np.zeros(5), None),
    "positions that are no numbers": encode(1, 0.0, np.array([0, 0, np.nan, 0, 0, 0]), None),
}


@pytest.mark.parametrize("reason", BARE)
def test_datagrams_that_are_no_use_say_why(reason):
    with pytest.raises(NotEgm, match=reason):
        decode(BARE[reason], 6)


def test_what_a_sensor_sends_is_no_data():
    message = messages().EgmRobot()
    message.ParseFromString(encode(1, 0.0, np.zeros(6), None))
    message.header.mtype = messages().EgmHeader.MSGTYPE_CORRECTION
    with pytest.raises(NotEgm, match="no data packet"):
        decode(message.SerializeToString(), 6)
