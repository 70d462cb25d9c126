"""Frames by name. Pinocchio's frames are links and joints: many exporters give a link and its joint one name, and the link is meant."""

import pinocchio as pin


def frame_id(model: pin.Model, name: str) -> int:
    """Return Pinocchio's number of the link of a name, else of the frame of that name; of the model's `nframes` where there is none."""
    if model.existFrame(name, pin.FrameType.BODY):
        return int(model.getFrameId(name, pin.FrameType.BODY))
    return int(model.getFrameId(name))
