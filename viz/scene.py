"""The robot in MeshCat: drawn at a configuration, animated along a motion, exported as one offline page.

    URDF visuals ─► drawing commands ─► live page (a server process, only once its address is asked for)
                                    └─► offline page (no server)
"""

import base64
import html
import json
import os
import subprocess
import sys
import weakref
import webbrowser
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import meshcat
import numpy as np
import pinocchio as pin
import umsgpack
import zmq
from pinocchio.visualize import MeshcatVisualizer
from scipy.spatial.transform import Rotation

from robodyn_pin.errors import BadFile, RobodynError, ShapeMismatch

# MeshCat's camera turns about the page's origin and its lamps hang some 2 m from there, so the view stays where it
# is, and the robot is moved and scaled to fit it.
FIELD_OF_VIEW = 40.0  # vertical [deg]; MeshCat's 75 makes links near the edge look bent
DISTANCE = 3.0  # camera to origin [page units]
BACK, RIGHT, UP = Rotation.from_euler("zx", [-53, -24], degrees=True).as_matrix().T[[1, 0, 2]] * [[-1], [1], [1]]

# MeshCat's server, made to end with its parent however that ends: its standard input is a pipe which we hold open.
SERVER = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from meshcat.servers.zmqserver import main
main()
"""

# The policy makes sure that no request leaves the page.
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; worker-src blob:;
 style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'">
<style>
body {{ margin: 0 }}
#meshcat-pane {{ width: 100vw; height: 100vh; overflow: hidden }}
#title {{ position: absolute; left: 1rem; top: .75rem; font: 1rem system-ui, sans-serif; color: #333 }}
</style></head>
<body><div id="meshcat-pane"></div><div id="title">{title}</div>
<script>{meshcat}</script>
<script>
var viewer = new MeshCat.Viewer(document.getElementById("meshcat-pane"));
for (const command of {commands})
  viewer.handle_command_bytearray(Uint8Array.from(atob(command), byte => byte.charCodeAt(0)));
</script></body></html>
"""


class Scene:
    """A robot in MeshCat: drawn at q, animated along a motion, exported as one offline page.

    No server runs until `url` or `open_browser` asks for one; then `close` it, or write `with Scene(...) as scene`.
    What callers draw through `world`, a meshcat.Visualizer, is in the robot's world frame and in metres.
    """

    def __init__(self, model: pin.Model, urdf_xml: str, package_dirs: Sequence[str] = (), title: str = ""):
        """Draw the visual bodies of the URDF that `model` was built from, at the neutral configuration.

        Raises:
            BadFile: the URDF has no visual body, or a mesh of it cannot be read.
        """
        self.title = title or model.name
        self._model, self._data = model, model.createData()
        self._page = _Page()
        self._viewer = meshcat.Visualizer(window=self._page)
        self.world = self._viewer["world"]
        try:  # package_dirs by name: as fourth argument Pinocchio takes it for a geometry model
            visuals = pin.buildGeomFromUrdfString(
                model, urdf_xml, pin.GeometryType.VISUAL, package_dirs=[os.fspath(path) for path in package_dirs]
            )
        except ValueError as error:
            raise BadFile(f"the visual bodies of {model.name!r} cannot be read: {error}") from error
        if visuals.ngeoms == 0:
            raise BadFile(f"nothing to draw: no link of {model.name!r} has a <visual>")

        # One node per joint that carries a body, so that one track moves all its bodies. A slash would nest nodes.
        self._nodes = {body.parentJoint: self.world[model.names[body.parentJoint].replace("/", "|")]
                       for body in visuals.geometryObjects}
        self._corners: dict[int, np.ndarray] = {}  # of the boxes around the bodies, joint -> (n, 4)
        loader = MeshcatVisualizer(model, None, visuals)
        loader.initViewer(viewer=self._viewer)
        for body in visuals.geometryObjects:
            node = self._nodes[body.parentJoint]
            loader.viewerVisualGroupName = node.path.lower().removeprefix("/meshcat/")
            loader.loadViewerGeometryObject(body, pin.GeometryType.VISUAL)
            print(node.path.lower(), body.name)
            node[body.name].set_transform(body.placement.homogeneous @ np.diag([*body.meshScale, 1.0]))
