"""The agent that runs inside the container: `python -m tileport_skill.agent`. Read `loop.py` first."""
