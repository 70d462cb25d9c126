"""What exporting needs beside the package."""

from importlib.util import find_spec

from robodyn_pin.errors import RobodynError


def check_casadi() -> None:
    """See that CasADi is there.

    Raises:
        RobodynError: it is not.
    """
    if find_spec("casadi") is None:
        raise RobodynError("code for controllers needs the extra 'export': pip install 'robodyn_pin[export]'")
