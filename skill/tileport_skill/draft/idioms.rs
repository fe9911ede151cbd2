// Functions that kernels share, in the Rust of cuTile 0.2.0. `idioms.py` copies those that a kernel uses into it.

/// An integer in as many lanes as `like` has, widened to 64 bits.
fn lanes<const N: i32>(value: i32, _like: Tile<i64, { [N] }>) -> Tile<i64, { [N] }> {
    let value: Tile<i32, { [] }> = scalar_to_tile(value);
    let value: Tile<i64, { [] }> = exti(value);
    value.reshape(const_shape![1]).broadcast(const_shape![N])
}

/// Which lanes of `index` are at least 0 and less than `size`: one comparison of unsigned numbers.
fn inside<const N: i32>(index: Tile<i64, { [N] }>, size: i32) -> Tile<bool, { [N] }> {
    let size: Tile<i64, { [N] }> = lanes(size, index);
    let size: Tile<u64, { [N] }> = bitcast(size);
    let index: Tile<u64, { [N] }> = bitcast(index);
    lt_tile(index, size)
}

/// The addresses of the elements at `offset`s.
fn addresses<E: ElementType, const N: i32>(
    array: *mut E,
    offset: Tile<i64, { [N] }>,
) -> PointerTile<*mut E, { [N] }> {
    let base: PointerTile<*mut E, { [] }> = pointer_to_tile(array);
    let base: PointerTile<*mut E, { [1] }> = base.reshape(const_shape![1]);
    let base: PointerTile<*mut E, { [N] }> = base.broadcast(const_shape![N]);
    let pointers: PointerTile<*mut E, { [N] }> = base.offset_tile(offset);
    pointers
}

/// Reads the elements at `pointers`; lanes outside `mask` read zero.
unsafe fn read_masked<E: ElementType, const N: i32>(
    array: *mut E,
    pointers: PointerTile<*mut E, { [N] }>,
    mask: Tile<bool, { [N] }>,
) -> Tile<E, { [N] }> {
    let zero = zero_of(array);
    let (tile, _token): (Tile<E, { [N] }>, Token) = load_ptr_tko(
        pointers,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        Some(zero),
        None::<Token>,
        Latency::<0>,
    );
    tile
}

/// Reads the elements at `pointers`, all of which must be there.
unsafe fn read<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
) -> Tile<E, { [N] }> {
    let (tile, _token): (Tile<E, { [N] }>, Token) = load_ptr_tko(
        pointers,
        ordering::Weak,
        None::<scope::TileBlock>,
        None,
        None::<E>,
        None::<Token>,
        Latency::<0>,
    );
    tile
}

/// Zero of the array's element type. cuTile 0.2.0 has no scalar of a generic type but one read out of a tile.
fn zero_of<E: ElementType>(_array: *mut E) -> E {
    let zero: Tile<E, { [1] }> = constant(E::ZERO, const_shape![1]);
    let zero: Tile<E, { [] }> = reduce_sum(zero, 0i32);
    let zero: E = tile_to_scalar(zero);
    zero
}

/// `ct.gather(array, index)`: lanes outside the array read zero.
unsafe fn gather<E: ElementType, const N: i32>(
    array: *mut E,
    length: i32,
    index: Tile<i32, { [N] }>,
    check_bounds: bool,
) -> Tile<E, { [N] }> {
    let index: Tile<i64, { [N] }> = exti(index);
    if check_bounds {
        let mask = inside(index, length);
        unsafe { read_masked(array, addresses(array, index), mask) }
    } else {
        unsafe { read(addresses(array, index)) }
    }
}

/// `ct.scatter(array, index, value)`: lanes outside the array are not written.
unsafe fn scatter<E: ElementType, const N: i32>(
    array: *mut E,
    length: i32,
    index: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
    check_bounds: bool,
) {
    let index: Tile<i64, { [N] }> = exti(index);
    if check_bounds {
        let mask = inside(index, length);
        unsafe { write_masked(addresses(array, index), value, mask) };
    } else {
        unsafe { write(addresses(array, index), value) };
    }
}

/// Writes `value` to `pointers`, but for the lanes outside `mask`.
unsafe fn write_masked<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    value: Tile<E, { [N] }>,
    mask: Tile<bool, { [N] }>,
) {
    let _token: Token = store_ptr_tko(
        pointers,
        value,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        None::<Token>,
        Latency::<0>,
    );
}

/// Writes `value` to `pointers`, all of which must be there.
unsafe fn write<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    value: Tile<E, { [N] }>,
) {
    let _token: Token = store_ptr_tko(
        pointers,
        value,
        ordering::Weak,
        None::<scope::TileBlock>,
        None,
        None::<Token>,
        Latency::<0>,
    );
}

/// `ct.gather(array, (row, column))`, one row: lanes outside the array read zero.
unsafe fn gather_row<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
    check_bounds: bool,
) -> Tile<E, { [N] }> {
    let column: Tile<i64, { [N] }> = exti(column);
    let row = lanes(row, column);
    let offset = row * lanes(row_stride, column) + column;
    if check_bounds {
        let mask = inside(row, rows) & inside(column, columns);
        unsafe { read_masked(array, addresses(array, offset), mask) }
    } else {
        unsafe { read(addresses(array, offset)) }
    }
}

/// `ct.scatter(array, (row, column), value)`, one row: lanes outside the array are not written.
unsafe fn scatter_row<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
    check_bounds: bool,
) {
    let column: Tile<i64, { [N] }> = exti(column);
    let row = lanes(row, column);
    let offset = row * lanes(row_stride, column) + column;
    if check_bounds {
        let mask = inside(row, rows) & inside(column, columns);
        unsafe { write_masked(addresses(array, offset), value, mask) };
    } else {
        unsafe { write(addresses(array, offset), value) };
    }
}

/// Python's `a % b`: the result has the sign of `b`.
fn floor_mod(a: i32, b: i32) -> i32 {
    let a: Tile<i32, { [] }> = scalar_to_tile(a);
    let b: Tile<i32, { [] }> = scalar_to_tile(b);
    let zero: Tile<i32, { [] }> = constant(0i32, const_shape![]);
    let remainder = a % b;
    let wraps = (lt_tile(remainder, zero) ^ lt_tile(b, zero)) & ne_tile(remainder, zero);
    let result = select(wraps, remainder + b, remainder);
    let result: i32 = tile_to_scalar(result);
    result
}

/// A constant of type `f32`, which Rust takes as its bits.
fn f32_from_bits(bits: i32) -> f32 {
    let bits: Tile<i32, { [] }> = scalar_to_tile(bits);
    let value: Tile<f32, { [] }> = bitcast(bits);
    let value: f32 = tile_to_scalar(value);
    value
}

/// `exp` with the rounding given. cuTile Rust 0.2.0 has no word for it: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.exp", params = ["x"], static_params = ["rounding={Approx: rounding_mode=#cuda_tile.rounding<approx>}"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn exp_approx<E: ElementType, const S: [i32; N], R: rounding::Mode>(
    x: Tile<E, S>,
    rounding: R,
) -> Tile<E, S> {
    unreachable!()
}
