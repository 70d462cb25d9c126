"""The fastest motion along a path within the limits of joints, motors, struts and end-effector, with its table.

What is solved. Given is a path c(s), s from 0 to 1; sought is how fast to move along it. As ds/dt = 0 at both ends,
s = sigma(r) is a polynomial that is flat there (`end_grading`), and r moves all the time. The unknown is y = (dr/dt)^2,
a piecewise parabola of r on K intervals (`parabolas`, `profile`), with u = y'/2 = d2r/dt2 and
w = y''/2, d3r/dt3 = w dr/dt.

    minimise    the travel time, the integral of 1 / sqrt(y) over r                        (`objectives`)
    subject to  |a s'' + b s'^2 + c + d s'| <= 1   for each acceleration, torque and force  (`terms`)
                |q''' s'^3 + 3 q'' s' s'' + q' s'''| <= most   for each jerk                (`terms`)
                y <= max_y   for the velocities                                             (`terms`)
    at both ends and in the middle of every interval, as functions of y, u and w            (`limit_rows`, `grid`)

In which order.
  1. `plan_file`, `path`, `path_check`, `limits`, `task`: read what to plan; check that the robot can be on the path.
  2. `path_dynamics`, `terms`: all joints along the path; a, b, c, d from the inverse dynamics at a few speeds.
  3. `problem`, `limit_rows`, `grid`: the limits on the intervals.
  4. `solve`, `interior_point`: from a slow motion to the optimum; every iterate keeps the limits on the grid.
  5. `tightening`, `limit_check`: check the motion between the knots with the inverse dynamics themselves, tighten the
     limits there, and optimise again until the motion keeps them all.
  6. `plan`, `velocity_curve`, `table`: the result, the maximum velocity curve, the table for the controller.

Why viscous friction and jerk need more. Without them the limits are linear in y and u, and the problem is convex.
Viscous friction adds sqrt(y) and jerk 1 / sqrt(y), which are not convex on one side of the limit. There each step takes
the tangent instead (sequential convexification): all iterates are feasible, but the first one must be, too.

Why momentum needs more. If the robot can stand still everywhere on the path, a slow motion is feasible. If its motors
are too weak to hold it somewhere, only a motion with enough speed can pass, and none may exist. `phase_plane` sweeps
over all speeds at all knots: it proves that no motion passes, or yields one that keeps all limits but the jerk's.
`nearby_start` turns it into a feasible one, and `feasibility` chooses the start among several.
"""
