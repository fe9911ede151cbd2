from tilegym import ops as ops
