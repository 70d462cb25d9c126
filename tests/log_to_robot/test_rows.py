"""Rows block by block: one block is in memory at a time."""

import weakref

import pytest
from dualv_logs import dualv_log

import robodyn_pin as rp
from robodyn_pin.log_to_robot import rows
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.segments import fitted_blocks


@pytest.mark.parametrize("asked", [{}, {"filter": {"order": 4, "cutoff": 40}}])
@pytest.mark.parametrize("look", ["folded", "fitted"])
def test_a_block_is_gone_before_the_next_one_is_made(monkeypatch, look, asked):
    robot, run = ready_to_fold(rp.load("dualv"), {"rows": asked | {"every": 3}})
    log, made, made_so_far = dualv_log(robot, 0), rows._block, []

    def watched(*given):
        assert not any(left() is not None for left in made_so_far)
        block = made(*given)
        made_so_far.append(weakref.ref(block.W))
        return block

    monkeypatch.setattr(rows, "BLOCK_BYTES", 1e5)
    monkeypatch.setattr(rows, "_block", watched)
    if look == "folded":
        evidence_of(robot, run, [log])
    else:
        for _, _, W, _ in fitted_blocks(robot, run, log):
            assert len(W)
    assert len(made_so_far) > 3
