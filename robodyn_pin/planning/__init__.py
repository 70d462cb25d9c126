"""Time-optimal motion along given paths, within limits of joints, motors, struts and end-effector."""
