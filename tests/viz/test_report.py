"""The report page: what it says of a result, and what lies beside it."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.log_to_robot.fit_data import Choice
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.verdict import Verdict
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.units import coefficient_units, coordinate_units, effort_unit
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.viz.plots import svg, torque_figure
from robodyn_pin.viz.report import FIGURES, shown_number, write_report

# An arm that swings and, along it, a slide: one motor in N m, one in N. The robot file assumes a length, and says so.
SLIDER = """
<robot name="slider">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></visual>
  </link>
  <link name="tray">
    <inertial><origin xyz="0.02 0 0.03"/><mass value="1"/>
      <inertia ixx="0.004" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.08"/></geometry></visual>
  </link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="20" effort="99"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="tray"/>
    <origin xyz="0.3 0 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="9" effort="99"/></joint>
</robot>
"""
FILE = {
    "urdf": "slider.urdf",
    "efforts": [
        {"of": "swing", "model": "viscous", "initial": 0.5},
        {"of": "swing", "model": "armature", "initial": 0.25, "known": True},
        {"of": "slide", "model": "coulomb", "initial": 2.0},
    ],
    "sources": {"length 0.3": "assumed: read off a photograph", "masses": "datasheet: page <3> & 4"},
}


def slider(**changes: object) -> Robot:
    return build("slider", RobotFile.model_validate(FILE | changes), SLIDER, Path("slider.urdf"))


def slider_result() -> Result:
    """The slider, identified from a simulated log."""
    motion = FourierMotion(
        rate=100, duration=4, period=4, centre={"swing": 0.2, "slide": 0.1},
        sin={"swing": [0.5, -0.3, 0.1, 0.1], "slide": [0.1, 0.05, -0.05, 0.03]},
        cos={"swing": [0.3, 0.2], "slide": [0.1]},
    )  # fmt: skip
    robot = slider()
    return identify(robot, simulate(robot, motion, Noise(np.array([0.1, 0.2]))))


@pytest.fixture(scope="module")
def result() -> Result:
    return slider_result()


def page(result: Result, tmp_path: Path) -> str:
    write_report(result, tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


class _Text(HTMLParser):
    """What a reader sees: no markup, no styles, no 3D page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def text(result: Result, tmp_path: Path) -> str:
    parser = _Text()
    parser.feed(page(result, tmp_path))
    return " ".join(" ".join(parser.parts).split())


@pytest.fixture(scope="module")
def seen(result, tmp_path_factory) -> str:
    return text(result, tmp_path_factory.mktemp("seen"))


def test_newtons_and_newton_metres_have_no_common_error_on_the_screen(result, tmp_path, capsys):
    print_result(result, tmp_path)
    cells = [[cell.strip() for cell in line.split("│")] for line in capsys.readouterr().out.splitlines()]
    rows = {row[1]: row for row in cells if len(row) > 6}
    assert [rows[name][2] for name in ("swing", "slide", "all")] == ["N m", "N", ""]
    assert rows["all"][3] == rows["all"][5] == "—"


def test_verdict_comes_first_with_its_reasons_and_its_scope(result, seen):
    first, rest = seen.split("Prediction errors", 1)
    assert "✓ Accepted" in first
    order = [first.index(x) for x in (result.verdict.scope[1:], *result.verdict.reasons, *result.verdict.cautions)]
    assert order == sorted(order)
    assert "It was fitted to simulated, samples 0 to 279" in first
    assert "held-out data simulated, samples 280 to 399, which no estimate" in first
    assert "the same recording" in first
    assert "The robot in 3D" in first.split("Provenance", 1)[1]  # after the list of parts, before all tables
    heads = ["Measured and predicted", "Base parameters", "Bodies", "Friction", "Settings chosen", "Data quality"]
    places = [rest.index(head) for head in [*heads, "Assumptions The robot file", "Provenance"]]
    assert places == sorted(places)


def test_a_result_that_is_not_accepted_says_why(result, tmp_path):
    refused = replace(result, check=replace(result.check, verdict=Verdict(False, ("over-fitted: <3> times & more",))))
    seen = text(refused, tmp_path)
    assert "✗ Not accepted Where it applies." in seen
    assert "Reasons. over-fitted: <3> times & more" in seen
    assert "✓" not in seen


def test_simulated_logs_are_called_so_and_measured_ones_are_not(result, tmp_path, seen):
    assert seen.split("identified parameters")[0].count("SIMULATED LOGS") == 2  # title and banner
    assert "SIMULATED" not in text(replace(result, simulated=False), tmp_path)


def test_held_out_samples_that_were_fitted_are_pointed_out(result, tmp_path):
    fit, held_out = result.logs
    overlapping = replace(result, logs=(fit, replace(held_out, begin=260)))
    assert "is not unseen: 20 of its samples were fitted as well" in text(overlapping, tmp_path)


def test_every_motor_has_its_errors_in_its_unit_and_its_plot(result, seen):
    for j, (name, unit) in enumerate((("swing", "N m"), ("slide", "N"))):
        held_out = result.scored["feasible"].held_out
        cells = [e.rmse[j] for s in result.scored.values() for e in (s.fit, s.held_out)]
        assert f"{name} {unit} " in seen
        for value in cells:
            assert str(shown_number(value, zeros=True)) in seen
        assert f"feasible: RMSE {shown_number(held_out.rmse[j], zeros=True)} {unit}," in seen
    assert "torque [N m]" in seen
    assert "force [N]" in seen


def test_verification_has_the_rmse_of_the_held_out_rows_and_mean_torques_as_measured(result, seen):
    found, held_out = result.check.accuracy, result.scored["feasible"].held_out
    np.testing.assert_allclose(found.rmse, held_out.rmse, rtol=1e-6)  # samples here, triangular factors there
    (sample,) = result.check.samples
    assert len(sample.measured) == found.samples  # a log so short is drawn whole
    np.testing.assert_allclose(found.mean, np.abs(sample.measured).mean(axis=0))
    np.testing.assert_allclose(found.mae, np.abs(sample.measured - sample.predicted["feasible"]).mean(axis=0))
    assert "RMSE / mean [%]" in seen
    assert result.summary()["accuracy"][0]["mean |measured|"] == found.mean[0]


def test_base_parameters_are_listed_with_units(result, seen):
    base = result.wls.base
    assert f"determines {base.size} combinations of the {result.layout.size} parameters" in seen
    assert "viscous(swing) N m s/rad" in seen
    assert "coulomb(slide) N " in seen


def test_friction_tells_identified_from_given(result, seen):
    viscous, coulomb = result.feasible.values[result.layout.first_scalar :]
    assert f"swing {shown_number(viscous, 4)} 0.25 † " in seen
    assert f"slide {shown_number(coulomb, 4)} " in seen


def test_friction_that_would_be_negative_is_called_zero(result, tmp_path):
    values = result.feasible.values.copy()
    values[-1] = 1e-9  # what an interior-point solver makes of zero
    changed = replace(result, estimates=replace(result.estimates, feasible=replace(result.feasible, values=values)))
    assert "slide 0 ‡ " in text(changed, tmp_path)


def test_mass_at_its_bound_is_not_sold_as_measured(result, tmp_path, seen):
    mass = result.feasible.values[0]
    bounds = Bounds(np.array([[0.01, mass * 1.0005], [0.01, 100.0]]), result.estimates.bounds.eigenvalue)
    assert "its bound, not the log" in text(
        replace(result, estimates=replace(result.estimates, bounds=bounds)), tmp_path
    )
    assert "its bound, not the log" not in seen


def test_masses_come_from_where_the_log_shows_them(seen):
    # The slide feels the tray's mass and nothing else of it; a hinge feels moments, never the mass of the arm.
    rows = seen[seen.index("what determines the mass") :]
    assert re.search(r"arm [^a-z]* to [^a-z]*the prior, not the log", rows)
    assert re.search(r"tray [^a-z]* to [^a-z]*the log x, y, z", rows)


def test_choices_are_drawn_and_one_at_the_end_of_its_candidates_is_flagged(result, tmp_path, seen):
    choices = (
        Choice("cutoff", (5.0, 10.0, 20.0), (9.0, 7.0, 8.0), 10.0),
        Choice("prior_weight", (0.01, 0.1), (7.0, 7.01), 0.1),
    )
    changed = text(replace(result, settings=replace(result.settings, choices=choices)), tmp_path)
    assert "cutoff of the filter on positions [Hz]" in changed
    assert "cutoff: 10 , the value of the smallest error." in changed
    assert "prior_weight: 0.1 , the largest weight whose error counts as equal" in changed
    assert changed.count("It is at the end of the candidates") == 1
    assert "None was chosen: all settings are those of the run file." in seen


def test_odd_clocks_are_flagged(result, tmp_path):
    quality = replace(
        result.logs[0].quality, rows=400, rate=100.0, irregular=0.5, jitter=2e-3, late=4e-3, gaps=3, repeated=40
    )
    quality = replace(quality, saturated={"slide": 7}, ends={"slide": (None, 3.0)})
    odd = replace(result, logs=tuple(replace(r, quality=quality, sha256="ab" * 32, period=2.5) for r in result.logs))
    seen = text(odd, tmp_path)
    row = r"simulated 400 100 50 2, 4 3 40 \(10 %\) 7 2\.5 fit: 0 to 279, error (\S+) %; held out: 280 to 399, error (\S+) %"
    told = [float(x) for x in re.search(row, seen).groups()]
    assert told == pytest.approx([r.errors.mean_percent for r in odd.logs], rel=5e-3)
    assert "A log whose clock is not regular" in seen
    assert "ab" * 32 in seen


def test_assumptions_are_listed_and_other_sources_are_not(result, tmp_path, seen):
    assert "length 0.3 : read off a photograph" in seen
    assert "datasheet" not in seen
    nothing = replace(result, settings=replace(result.settings, robot=slider(sources={})))
    assert "The robot file names no sources" in text(nothing, tmp_path)


def test_a_mesh_that_is_not_there_costs_the_picture_only(result, tmp_path):
    urdf = SLIDER.replace('<sphere radius="0.08"/>', '<mesh filename="package://gone.stl"/>')
    robot = build("slider", result.robot_before.file, urdf, Path("slider.urdf"))
    seen = text(replace(result, settings=replace(result.settings, robot=robot)), tmp_path)
    assert "It cannot be drawn: " in seen
    assert "gone.stl" in seen


def test_reports_are_the_same_bytes_each_time(result, tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_report(result, tmp_path / name / "report.html")
    first, second = ((tmp_path / name / "report.html").read_bytes() for name in ("first", "second"))
    assert first == second


def test_plots_are_the_same_bytes_each_time_and_ids_differ_between_them(result, tmp_path):
    t = np.linspace(0, 1, 50)

    def drawn(name: str) -> str:
        return svg(torque_figure(t, np.sin(t), {"WLS": t, "feasible": t**2}, "a<b", "N m"), name)

    assert drawn("first") == drawn("first")
    assert "a&lt;b" in drawn("first")
    assert "<dc:date>" not in drawn("first")
    without_scene = re.sub(r'data-page="[^"]*"', "", page(result, tmp_path))
    ids = re.findall(r' id="([^"]+)"', without_scene)
    assert len(ids) > 10
    assert len(ids) == len(set(ids))


def test_pictures_are_figures_whose_axes_can_be_styled(result, tmp_path):
    write_report(result, tmp_path / "report.html")
    figures = result.figures()
    assert {path.stem for path in (tmp_path / "report_figures").glob("*.svg")} == set(figures)
    figure = next(figure for name, figure in figures.items() if name.startswith("residual"))
    figure.axes[0].set_title("my own title")
    figure.savefig(tmp_path / "mine.svg")
    assert "my own title" in (tmp_path / "mine.svg").read_text()


def test_units_follow_what_turns_and_what_slides():
    robot = slider(motors=[{"name": "screw", "of": {"slide": 600}}, "swing"], coordinates=["swing", "slide"], efforts=[
        {"of": "swing", "model": "polynomial", "degree": 2}, {"of": "slide", "model": "stribeck", "speed": 0.1},
        {"of": "slide", "model": "spring"}, {"of": "screw", "model": "viscous"},
        {"of": "swing", "model": "lever_spring", "radii": [0.1, 0.2]},
    ])  # fmt: skip
    assert coordinate_units(robot) == ["N m", "N"]
    assert effort_unit(robot.model, robot.motors.S[0]) == "N m or N"  # a spindle: the motor turns, the joint slides
    assert [coefficient_units(robot, e) for e in robot.efforts] == [
        ["N m", "N m/rad", "N m/rad²"], ["N", "N", "N s/m"], ["N/m"], ["N m s/rad or N s/m"], ["N/m"],
    ]  # fmt: skip


def test_unit_of_a_combination_of_turning_joints_is_known():
    model = load("irb360").model
    row = np.zeros(model.nv)
    row[[model.joints[model.getJointId(name)].idx_v for name in ("phi1", "psi")]] = 1.0, 32.0
    assert effort_unit(model, row) == "N m"
    assert (
        model.joints[model.getJointId("ext")].shortname().startswith("JointModelP")
    )  # the kind that must be told apart
    assert effort_unit(model, np.eye(model.nv)[model.joints[model.getJointId("ext")].idx_v]) == "N"


def test_page_stays_small_however_long_the_log_is(result, tmp_path):
    (sample,) = result.check.samples

    def lengthened(n: int) -> Result:
        pick = np.linspace(0, len(sample.t) - 1, n).astype(int)
        predicted = {e: x[pick] for e, x in sample.predicted.items()}
        longer = replace(
            sample, t=np.arange(n) * 0.02, q=sample.q[pick], measured=sample.measured[pick], predicted=predicted,
            deviations=sample.deviations[pick], rates=sample.rates[pick], friction=sample.friction[pick],
        )  # fmt: skip
        return replace(result, check=replace(result.check, samples=(longer,)))

    sizes = []
    for n in (3000, 6000):  # an identification draws at most 6000 samples, here one in 20 ms: 60 and 120 s
        write_report(lengthened(n), tmp_path / "report.html")
        sizes.append((tmp_path / "report.html").stat().st_size)
    assert sizes[0] < 8e6
    assert sizes[1] < 1.1 * sizes[0]


def test_every_picture_lies_beside_the_page_with_its_numbers(result, tmp_path):
    page(result, tmp_path)
    folder = tmp_path / FIGURES
    names = {
        f"{what}_{name}" for what in ("torque", "residual", "residual_over", "friction") for name in ("swing", "slide")
    } | {"mass_matrix"}
    assert {p.name for p in folder.iterdir()} == {f"{name}.{kind}" for name in names for kind in ("svg", "csv")}
    for path in folder.glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg")
        assert root[-1].text == "SIMULATED log: no robot was measured"  # the file says so without its page
        assert float(root[-1].attrib["y"]) < float(root.attrib["viewBox"].split()[3])  # and is not cut
    table = pl.read_csv(folder / "torque_slide.csv", comment_prefix="#")
    (sample,) = result.check.samples
    np.testing.assert_allclose(table["measured [N]"], sample.measured[:, 1], rtol=1e-5)
    np.testing.assert_allclose(table["feasible [N]"], sample.predicted["feasible"][:, 1], rtol=1e-5)


def test_writing_again_leaves_no_picture_of_before(result, tmp_path):
    result.write(tmp_path / "out")
    (tmp_path / "out" / FIGURES / "old.svg").write_text("")
    result.write(tmp_path / "out")
    assert not (tmp_path / "out" / FIGURES / "old.svg").exists()
    assert (tmp_path / "out" / FIGURES / "torque_slide.csv").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_page_names_no_source_on_the_net(result, tmp_path):
    assert not re.findall(r"(?:src|href|data|action)=.?https?://|url\(.?https?://|@import", page(result, tmp_path))


def test_robot_without_drawn_bodies_is_called_a_skeleton(result, tmp_path, seen):
    urdf = re.sub(r"<visual>.*?</visual>", "", SLIDER, flags=re.DOTALL)
    assert pin.buildModelFromXML(urdf).nv == 2
    bare = build("slider", result.robot_before.file, urdf, Path("slider.urdf"))
    assert "this is a skeleton" in text(replace(result, settings=replace(result.settings, robot=bare)), tmp_path)
    assert "this is a skeleton" not in seen
