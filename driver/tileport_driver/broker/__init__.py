"""The broker: the agent's only way out, outside its container. Read `conversation.py` first.

    server        a thread on a Unix socket
    app           HTTP: token, body, events
    conversation  one exchange: known already? affordable? answer, record
    engines       a script replayed, or the real API
    transcript    the record that everything is folded from

Replaying is proved by tests. Calling the API is proved against a stand-in on this machine that holds every request
against the SDK's types, and not yet against the real API.
"""

from tileport_driver.broker.budget import Budget, Spent, check_budget
from tileport_driver.broker.engines import LiveModel, Model, ScriptedModel
from tileport_driver.broker.script import Script, load_script
from tileport_driver.broker.server import Broker
from tileport_driver.broker.transcript import Exchange, divergence, read_transcript

__all__ = [
    "Broker",
    "Budget",
    "Exchange",
    "LiveModel",
    "Model",
    "Script",
    "ScriptedModel",
    "Spent",
    "check_budget",
    "divergence",
    "load_script",
    "read_transcript",
]
