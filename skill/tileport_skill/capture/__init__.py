"""What an operator launches, and the Tile IR of each launch, found without a GPU. Read `session.py` first."""

from tileport_skill.capture.records import Capture, Launch, Specialisation
from tileport_skill.capture.session import capture

__all__ = ["Capture", "Launch", "Specialisation", "capture"]
