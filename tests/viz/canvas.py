"""What a page with a scene shows: the canvas, where the robot is on it, whether it plays."""

import base64
import io

import numpy as np
import pytest

LAPTOP = (1366, 768)
WORLD = "viewer.scene_tree.find(['meshcat', 'world'])"


def pixels(frame) -> np.ndarray:
    """The canvas, shape (height, width, 3), without MeshCat's menu."""
    Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    url = frame.evaluate("() => viewer.capture_image()")
    picture = Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))
    return np.asarray(picture.convert("RGB")).astype(int)


def differs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return abs(a - b).max(axis=2) > 25


def robot_pixels(frame) -> np.ndarray:
    """Where the robot is on the canvas: the pixels that change when it is hidden."""
    shown = pixels(frame)
    frame.evaluate(f"{WORLD}.object.visible = false")
    hidden = pixels(frame)
    frame.evaluate(f"{WORLD}.object.visible = true")
    return differs(shown, hidden)


def at(frame, t: float) -> np.ndarray:
    frame.evaluate("t => { viewer.animator.pause(); viewer.animator.seek(t); viewer.render(); }", t)
    return pixels(frame)


def wait_for_animation(frame) -> None:
    frame.wait_for_function("() => viewer.animator.duration > 0")


def plays(frame) -> bool:
    """The robot moves by itself and where the slider is put."""
    wait_for_animation(frame)
    frame.wait_for_function("() => viewer.animator.playing && viewer.animator.time > 0.2")
    return differs(at(frame, 0.0), at(frame, 1.5)).sum() > 1000


def share_of_view(mask: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return np.ptp(columns) / mask.shape[1], np.ptp(rows) / mask.shape[0]


def is_inside(mask: np.ndarray) -> bool:
    return not (mask[[0, -1]].any() or mask[:, [0, -1]].any())


def world_matrix(frame, *path: str) -> np.ndarray:
    """Where the page draws a node, in the robot's world frame, by three.js's own arithmetic."""
    columns = frame.evaluate(
        f"""path => {{
            viewer.render();
            const world = {WORLD};
            return world.object.matrixWorld.clone().invert().multiply(world.find(path).object.matrixWorld).toArray();
        }}""",
        list(path),
    )
    return np.reshape(columns, (4, 4)).T
