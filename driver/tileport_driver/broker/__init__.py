"""The broker: the agent's only way out, outside its container. Read `conversation.py` first.

    server        a thread on a Unix socket
    app           HTTP: token, body, events
    conversation  one exchange: known already? affordable? answer, record
    engines       a script replayed, or the real API
    transcript    the record that everything is folded from

Replaying is proved by tests. Calling the API is proved against a stand-in on this machine that holds every request
against the SDK's types, and not yet against the real API.

Import from the modules: importing the SDK takes a second, and who only reads a script need not pay it.
"""
