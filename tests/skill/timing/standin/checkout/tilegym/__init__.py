from tilegym import ops
