from tilegym.ops.cutile_rs import silu_and_mul as silu_and_mul
