"""A small robot, and a motion of it."""

import numpy as np
import pinocchio as pin

from robodyn_pin.viz.scene import Scene

# A post with two swinging links, hung at 2 m, off the origin: nothing here is where a lazy camera looks.
TWO_LINKS = """
<robot name="two_links">
  <material name="red"><color rgba="0.8 0.2 0.1 1"/></material>
  <link name="post"><visual><origin xyz="0.5 0 2"/><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <link name="upper">
    <visual>
      <origin xyz="0 0 -0.2"/><geometry><cylinder radius="0.04" length="0.4"/></geometry><material name="red"/>
    </visual>
  </link>
  <link name="lower">
    <visual><origin xyz="0 0 -0.15"/><geometry><box size="0.05 0.05 0.3"/></geometry></visual>
    <visual><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.06"/></geometry><material name="red"/></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="post"/><child link="upper"/><origin xyz="0.5 0 2"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="9"/>
  </joint>
  <joint name="arm/elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4" rpy="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="9"/>
  </joint>
</robot>
"""


def two_links(**keywords) -> Scene:
    return Scene(pin.buildModelFromXML(TWO_LINKS), TWO_LINKS, **keywords)


def swing(n: int = 201) -> tuple[np.ndarray, np.ndarray]:
    """Two seconds from a clock that does not start at zero: a quarter turn of the shoulder, more of the elbow."""
    t = np.linspace(0.0, 2.0, n)
    return t + 7.0, np.column_stack([np.pi / 4 * t, np.sin(2 * t)])
