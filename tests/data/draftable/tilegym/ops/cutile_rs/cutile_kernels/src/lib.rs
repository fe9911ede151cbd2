// One library of all ports.
