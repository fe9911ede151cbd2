"""Stands in for `tileiras` while a port runs on the stand-in driver: keeps the bytecode, leaves a note for a cubin.

Run as `CUTILE_TILEIRAS_PATH` by cuTile Rust's own launcher, with the launcher's own arguments. Standard library only
and nothing imported from this package: it starts once for every kernel the port compiles.
"""

import hashlib
import os
import re
import subprocess
import sys


def main() -> int:
    arguments = sys.argv[1:]
    target, source = arguments[arguments.index("-o") + 1], arguments[-1]
    with open(source, "rb") as file:  # noqa: PTH123 - pathlib would double the start-up time
        bytecode = file.read()
    name = hashlib.sha256(bytecode).hexdigest()
    kept = os.path.join(os.environ["TILEPORT_IR"], f"{name}.tileirbc")  # noqa: PTH118
    partial = f"{kept}.{os.getpid()}.part"
    with open(partial, "wb") as file:  # noqa: PTH123
        file.write(bytecode)
    os.replace(partial, kept)  # noqa: PTH105
    text = subprocess.run([os.environ["TILEPORT_TILEIRDISASM"], source], capture_output=True, text=True, check=True)
    header = re.search(r"^entry @[\w$.]+\((.*?)\)(?: optimization_hints=| \{|$)", text.stdout, re.MULTILINE)
    if header is None:
        print("no entry in the bytecode", file=sys.stderr)
        return 1
    types = ["ptr" if found.startswith("ptr") else found for found in re.findall(r": tile<([\w<>]+?)>", header[1])]
    with open(target, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(" ".join([name, *types]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
