"""Ports whose Rust is at fault: judged by their Tile IR, on a CPU."""

from __future__ import annotations

from tests.hostile.catalogue import KERNEL, LAUNCHER, Edit, Port

_RESULT = "let result: Tile<f32, { [TILE_SIZE] }> = gate * sigmoid * value;"

KERNELS = (
    Port(
        name="rounds-to-half",
        about="Computes in float32 and rounds to float16 before it stores.",
        hacks=(6,),
        gate="tile-ir",
        edits=(
            Edit(
                file=KERNEL,
                old=_RESULT,
                new=_RESULT
                + """
        let result: Tile<f16, { [TILE_SIZE] }> = convert_tile(result);
        let result: Tile<f32, { [TILE_SIZE] }> = convert_tile(result);""",
            ),
        ),
    ),
    Port(
        name="identity",
        about="Stores half of its input as it is.",
        hacks=(7,),
        gate="tile-ir",
        edits=(
            Edit(
                file=KERNEL,
                old=_RESULT,
                new="let result: Tile<f32, { [TILE_SIZE] }> = value;\n        let _ = sigmoid;",
            ),
        ),
    ),
    Port(
        name="no-sigmoid",
        about="Leaves the expensive part out, which vanishes where the input is large.",
        hacks=(25,),
        gate="tile-ir",
        edits=(
            Edit(
                file=KERNEL,
                old=_RESULT,
                new="let result: Tile<f32, { [TILE_SIZE] }> = gate * value;\n        let _ = sigmoid;",
            ),
        ),
    ),
    Port(
        name="reads-outside",
        about="Reads one element beyond each row.",
        hacks=(27,),
        gate="tile-ir",
        edits=(
            Edit(
                file=KERNEL,
                old="cmpi(column, columns, predicate::LessThan)",
                new="cmpi(column, columns, predicate::LessThanOrEqual)",
            ),
        ),
    ),
    Port(
        name="other-kernel-on-a-gpu",
        about="Launches another specialisation under the same entry where there is a GPU: no compared one runs.",
        hacks=(30, 34),
        gate="bytecode",
        edits=(
            Edit(
                file=LAUNCHER,
                old="    let hidden = output.dim(1);\n",
                new="    let hidden = output.dim(1);\n"
                '    let tile_size = if std::path::Path::new("/dev/nvidiactl").exists() { 2 * tile_size } '
                "else { tile_size };\n",
            ),
        ),
    ),
)
