"""modelDescription.xml of an exported robot: its variables, in the order of their value references, with units."""

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from robodyn_pin.files import versions
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot

UNITS = {
    "rad": 'rad="1"', "m": 'm="1"', "rad/s": 'rad="1" s="-1"', "m/s": 'm="1" s="-1"', "s": 's="1"',
    "N.m": 'kg="1" m="2" s="-2"', "N": 'kg="1" m="1" s="-2"',
}  # fmt: skip


def description(robot: Robot, name: str, guid: str, step: float) -> str:
    """The XML text; `name`: of the library, `step` [s]: longest sample of integration."""
    variables = [_variable(k, *about) for k, about in enumerate(_variables(robot, step))]
    d = len(robot.coordinates.names)
    units = "\n".join(f'    <Unit name="{unit}"><BaseUnit {of}/></Unit>' for unit, of in UNITS.items())
    outputs = "\n".join(f'      <Unknown index="{k + 2}"/>' for k in range(2 * d))
    tools = ", ".join(f"{tool} {version}" for tool, version in versions().items())
    about = f"Dynamics of {robot.name}, loops closed; SHA-256 of the robot's numbers {numbers_hash(robot)}"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(robot.name)} guid="{guid}" description={quoteattr(about)}
  generationTool={quoteattr(tools)} variableNamingConvention="flat" numberOfEventIndicators="0">
  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUstate="true"
    canSerializeFMUstate="true" canNotUseMemoryManagementFunctions="false">
    <SourceFiles><File name="{name}_fmi2.c"/><File name="{name}.c"/></SourceFiles>
  </CoSimulation>
  <UnitDefinitions>
{units}
  </UnitDefinitions>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.001"/>
  <ModelVariables>
{chr(10).join(variables)}
  </ModelVariables>
  <ModelStructure>
    <Outputs>
{outputs}
    </Outputs>
  </ModelStructure>
</fmiModelDescription>
"""


def _variables(robot: Robot, step: float) -> Iterator[tuple[str, str, str, float | None, str]]:
    """Name, kind of variable, unit, start value and meaning, by value reference."""
    axes, motors, joints = robot.coordinates, robot.motors, list(robot.model.names)[1:]
    home = (axes.S @ robot.home + axes.offset).tolist()
    parameter = 'causality="parameter" variability="fixed" initial="exact"'
    output = 'causality="output" variability="continuous" initial="exact"'
    yield (
        "step",
        parameter,
        "s",
        step,
        "longest sample of integration: a communication step is cut into equal parts of at most this",
    )
    slides = robot.slides(axes.S)
    for name, slide, start in zip(axes.names, slides, home, strict=True):
        yield f"position.{name}", output, "m" if slide else "rad", start, "coordinate"
    for name, slide in zip(axes.names, slides, strict=True):
        yield f"speed.{name}", output, "m/s" if slide else "rad/s", 0.0, "rate of the coordinate"
    for name, slide in zip(motors.names, robot.slides(motors.S), strict=True):
        taken = 'causality="input" variability="continuous"'
        yield f"torque.{name}", taken, "N" if slide else "N.m", 0.0, "of the motor, behind the gear; held within a step"
    for name, slide in zip(joints, robot.slides(np.eye(robot.model.nv)), strict=True):
        local = 'causality="local" variability="continuous" initial="calculated"'
        yield f"joint.{name}", local, "m" if slide else "rad", None, "position of the joint"


def _variable(k: int, name: str, kind: str, unit: str, start: float | None, meaning: str) -> str:
    begins = "" if start is None else f' start="{start!r}"'
    return (
        f'    <ScalarVariable name={quoteattr(name)} valueReference="{k}" {kind} description={quoteattr(meaning)}>'
        f'<Real unit="{unit}"{begins}/></ScalarVariable>'
    )
