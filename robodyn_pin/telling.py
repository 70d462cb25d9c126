"""What the package says while it works: lines of Python's `logging`, under the package's name.

Stages of long work at INFO, what takes longer than a user expects at WARNING. `logging.basicConfig(level="INFO")` shows them.
"""

import logging

LOGGER = logging.getLogger("robodyn_pin")


def tell(stage: str) -> None:
    """Say what is being done now."""
    LOGGER.info(stage)
