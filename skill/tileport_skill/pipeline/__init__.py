"""How a port is made in bounded steps by roles that nobody believes: `machine.py` says which comes next."""
