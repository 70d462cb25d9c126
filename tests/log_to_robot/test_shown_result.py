"""What a notebook shows of a result."""

import re
import subprocess
import sys
from html import escape
from pathlib import Path

import robodyn_pin as rp


def test_a_result_prints_its_verdict_in_a_line_and_shows_an_error_for_each_coordinate(tmp_path):
    root, log = Path(__file__).parents[2], tmp_path / "log.csv"
    program = Path(sys.executable).with_name("robodyn")
    subprocess.run(
        [program, "simulate", "delta3", "--motion", root / "examples/delta3_sine.yaml", "--out", log, "--noise", "0.05,0.05,0.05", "--seed", "1"],
        check=True, capture_output=True,
    )  # fmt: skip
    robot = rp.load("delta3")
    result = rp.identify(robot, rp.read_log(log, robot))
    assert re.match(r"Result\(delta3: SIMULATED, (not )?accepted.*held-out error [\d.]+ %\)$", repr(result))
    page = result._repr_html_()
    for name in robot.coordinates.names:
        assert len(re.findall(rf"<tr><td>{name}</td><td>[\d.e+-]+</td><td>[\d.e+-]+</td></tr>", page)) == 1
    for said in (*result.verdict.reasons, *result.verdict.cautions):
        assert escape(said) in page
    frame, base = result.to_frame(), result.wls.base
    assert frame["wls"].to_list() == result.wls.values.tolist()
    assert frame["label"].to_list() == base.labels(result.layout.labels)
    assert list(frame.to_pandas().columns) == frame.columns
