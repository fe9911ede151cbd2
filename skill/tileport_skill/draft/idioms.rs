// Functions that kernels share, in the Rust of cuTile 0.2.0. `idioms.py` copies those that a kernel uses into it.
// Their steps stand in the order of cuTile Python's own: where registers are short, that order shows in the cubin.

/// A size or a stride, which is never negative: the launcher refuses arrays where one is.
fn size_of(value: i32) -> i32 {
    let value: i32 = unsafe { assume_bounds_lower::<i32, 0>(value) };
    value
}

/// An integer in as many lanes as `like` has, widened to 64 bits.
fn lanes<const N: i32>(value: i32, _like: Tile<i32, { [N] }>) -> Tile<i64, { [N] }> {
    let value: Tile<i32, { [] }> = scalar_to_tile(value);
    let value: Tile<i64, { [] }> = exti(value);
    value.reshape(const_shape![1]).broadcast(const_shape![N])
}

/// The same bits as unsigned: a negative number becomes one that is larger than any size.
fn unsigned_lanes<const N: i32>(value: i32, _like: Tile<i32, { [N] }>) -> Tile<u64, { [N] }> {
    let value: Tile<i32, { [] }> = scalar_to_tile(value);
    let value: Tile<u64, { [] }> = exti(value);
    value.reshape(const_shape![1]).broadcast(const_shape![N])
}

/// Which lanes of `index` are at least 0 and less than `size`.
fn inside<const N: i32>(index: Tile<i32, { [N] }>, size: i32) -> Tile<bool, { [N] }> {
    let size = unsigned_lanes(size, index);
    let index: Tile<u64, { [N] }> = exti(index);
    lt_tile(index, size)
}

/// Whether `row` is at least 0 and less than `rows`, in as many lanes as `like` has.
fn row_inside<const N: i32>(
    row: i32,
    rows: i32,
    like: Tile<i32, { [N] }>,
) -> Tile<bool, { [N] }> {
    lt_tile(unsigned_lanes(row, like), unsigned_lanes(rows, like))
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

/// Zero of the array's element type. cuTile 0.2.0 has no scalar of a generic type but one read out of a tile.
fn zero_of<E: ElementType>(_array: *mut E) -> E {
    let zero: Tile<E, { [1] }> = constant(E::ZERO, const_shape![1]);
    let zero: Tile<E, { [] }> = reduce_sum(zero, 0i32);
    let zero: E = tile_to_scalar(zero);
    zero
}

/// Minus infinity of the array's element type, by way of `f32`: cuTile 0.2.0's own constant of type `bf16` is NaN.
fn minus_infinity_of<E: ElementType>(_array: *mut E) -> E {
    let wide: Tile<f32, { [1] }> = constant(f32::NEG_INFINITY, const_shape![1]);
    let infinity: Tile<E, { [1] }> = convert_tile(wide);
    let infinity: Tile<E, { [] }> = reduce_max(infinity, 0i32);
    let infinity: E = tile_to_scalar(infinity);
    infinity
}

/// Reads the elements at `pointers`; lanes outside `mask` read `padding`.
unsafe fn read_masked<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    mask: Tile<bool, { [N] }>,
    padding: E,
) -> Tile<E, { [N] }> {
    let (tile, _token): (Tile<E, { [N] }>, Token) = load_ptr_tko(
        pointers,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        Some(padding),
        None::<Token>,
        Latency::<0>,
    );
    tile
}

/// Reads the elements at `pointers`; lanes outside `mask` read `padding`.
unsafe fn read_masked_ranked<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    mask: Tile<bool, { [N] }>,
    padding: E,
) -> Tile<E, { [N] }> {
    let padding: Tile<E, { [N] }> = broadcast_scalar(padding, const_shape![N]);
    let (tile, _token): (Tile<E, { [N] }>, Token) = load_padded(
        pointers,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        Some(padding),
        None::<Token>,
        Latency::<0>,
    );
    tile
}

/// Reads the elements at `pointers`, all of which must be there.
unsafe fn read_ranked<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    _padding: E,
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

/// Reads the elements at `pointers`, all of which must be there. cuTile Python names a `padding` all the same.
unsafe fn read<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    padding: E,
) -> Tile<E, { [N] }> {
    let (tile, _token): (Tile<E, { [N] }>, Token) = load_ptr_tko(
        pointers,
        ordering::Weak,
        None::<scope::TileBlock>,
        None,
        Some(padding),
        None::<Token>,
        Latency::<0>,
    );
    tile
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

/// `ct.gather(array, index)`: lanes outside the array read zero.
unsafe fn gather<E: ElementType, const N: i32>(
    array: *mut E,
    length: i32,
    index: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let mask = inside(index, length);
    let offset: Tile<i64, { [N] }> = exti(index);
    unsafe { read_masked(addresses(array, offset), mask, zero_of(array)) }
}

/// `ct.gather(array, index)`: lanes outside the array read minus infinity.
unsafe fn gather_or_minus_infinity<E: ElementType, const N: i32>(
    array: *mut E,
    length: i32,
    index: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let mask = inside(index, length);
    let offset: Tile<i64, { [N] }> = exti(index);
    unsafe { read_masked(addresses(array, offset), mask, minus_infinity_of(array)) }
}

/// `ct.gather(array, (row, column))`: lanes outside the array read zero.
unsafe fn gather_row<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let mask = row_inside(row, rows, column);
    let offset = lanes(row, column) * lanes(row_stride, column);
    let mask = mask & inside(column, columns);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe { read_masked(addresses(array, offset + column), mask, zero_of(array)) }
}

/// `ct.gather(array, (row, column))`: lanes outside the array read minus infinity.
unsafe fn gather_row_or_minus_infinity<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let mask = row_inside(row, rows, column);
    let offset = lanes(row, column) * lanes(row_stride, column);
    let mask = mask & inside(column, columns);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe {
        read_masked(
            addresses(array, offset + column),
            mask,
            minus_infinity_of(array),
        )
    }
}

/// `ct.gather(array, index, check_bounds=False)`: every index must be in the array.
unsafe fn gather_unchecked<E: ElementType, const N: i32>(
    array: *mut E,
    index: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let offset: Tile<i64, { [N] }> = exti(index);
    unsafe { read(addresses(array, offset), zero_of(array)) }
}

/// `ct.gather(array, (row, column), check_bounds=False)`: every index must be in the array.
unsafe fn gather_row_unchecked<E: ElementType, const N: i32>(
    array: *mut E,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
) -> Tile<E, { [N] }> {
    let offset = lanes(row, column) * lanes(row_stride, column);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe { read(addresses(array, offset + column), zero_of(array)) }
}

/// `ct.scatter(array, index, value)`: lanes outside the array are not written.
unsafe fn scatter<E: ElementType, const N: i32>(
    array: *mut E,
    length: i32,
    index: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
) {
    let mask = inside(index, length);
    let offset: Tile<i64, { [N] }> = exti(index);
    unsafe { write_masked(addresses(array, offset), value, mask) };
}

/// Writes `value` to `pointers`, but for the lanes outside `mask`, behind what `after` stands for.
unsafe fn write_after<E: ElementType, const N: i32>(
    pointers: PointerTile<*mut E, { [N] }>,
    value: Tile<E, { [N] }>,
    mask: Tile<bool, { [N] }>,
    after: Token,
) -> Token {
    let written: Token = store_ptr_tko(
        pointers,
        value,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        Some(after),
        Latency::<0>,
    );
    written
}

/// `ct.scatter(array, (row, column), value)` behind what `after` stands for, which its own token replaces.
unsafe fn scatter_row_after<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
    after: Token,
) -> Token {
    let mask = row_inside(row, rows, column);
    let offset = lanes(row, column) * lanes(row_stride, column);
    let mask = mask & inside(column, columns);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe { write_after(addresses(array, offset + column), value, mask, after) }
}

/// `ct.scatter(array, index, value, check_bounds=False)`: every index must be in the array.
unsafe fn scatter_unchecked<E: ElementType, const N: i32>(
    array: *mut E,
    index: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
) {
    let offset: Tile<i64, { [N] }> = exti(index);
    unsafe { write(addresses(array, offset), value) };
}

/// `ct.scatter(array, (row, column), value)`: lanes outside the array are not written.
unsafe fn scatter_row<E: ElementType, const N: i32>(
    array: *mut E,
    rows: i32,
    columns: i32,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
) {
    let mask = row_inside(row, rows, column);
    let offset = lanes(row, column) * lanes(row_stride, column);
    let mask = mask & inside(column, columns);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe { write_masked(addresses(array, offset + column), value, mask) };
}

/// `ct.scatter(array, (row, column), value, check_bounds=False)`: every index must be in the array.
unsafe fn scatter_row_unchecked<E: ElementType, const N: i32>(
    array: *mut E,
    row_stride: i32,
    row: i32,
    column: Tile<i32, { [N] }>,
    value: Tile<E, { [N] }>,
) {
    let offset = lanes(row, column) * lanes(row_stride, column);
    let column: Tile<i64, { [N] }> = exti(column);
    unsafe { write(addresses(array, offset + column), value) };
}

/// `ct.scatter(array, index, value)` for one element.
unsafe fn scatter_one<E: ElementType>(
    array: *mut E,
    length: i32,
    index: i32,
    value: Tile<E, { [] }>,
) {
    let index: Tile<i32, { [] }> = scalar_to_tile(index);
    let unsigned: Tile<u64, { [] }> = exti(index);
    let length: Tile<i32, { [] }> = scalar_to_tile(length);
    let length: Tile<u64, { [] }> = exti(length);
    let mask = lt_tile(unsigned, length);
    let offset: Tile<i64, { [] }> = exti(index);
    let base: PointerTile<*mut E, { [] }> = pointer_to_tile(array);
    let pointer: PointerTile<*mut E, { [] }> = base.offset_tile(offset);
    let _token: Token = store_ptr_tko(
        pointer,
        value,
        ordering::Weak,
        None::<scope::TileBlock>,
        Some(mask),
        None::<Token>,
        Latency::<0>,
    );
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

/// `tanh` with the rounding given. cuTile Rust 0.2.0 has no word for it: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.tanh", params = ["x"], static_params = ["rounding={Approx: rounding_mode=#cuda_tile.rounding<approx>}"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn tanh_approx<E: ElementType, const S: [i32; N], R: rounding::Mode>(
    x: Tile<E, S>,
    rounding: R,
) -> Tile<E, S> {
    unreachable!()
}

/// A shift that may drop bits. cuTile Rust 0.2.0 has no word for it: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.shli", params = ["lhs", "rhs"], static_params = ["overflow={None: overflow=#cuda_tile.overflow<none>}"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn shli_wrapping<E: ElementType, const S: [i32; N], O: overflow::Mode>(
    lhs: Tile<E, S>,
    rhs: Tile<E, S>,
    overflow: O,
) -> Tile<E, S> {
    unreachable!()
}

/// A narrowing that may drop bits. cuTile Rust 0.2.0 has no word for it: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.trunci", params = ["from"], static_params = ["overflow={None: overflow=#cuda_tile.overflow<none>}"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn trunci_wrapping<
    EIn: ElementType,
    EOut: ElementType,
    const S: [i32; N],
    O: overflow::Mode,
>(
    from: Tile<EIn, S>,
    overflow: O,
) -> Tile<EOut, S> {
    unreachable!()
}

/// A load whose padding is a tile. cuTile Rust 0.2.0 pads tiles of rank 1 alone: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.load_ptr_tko", params = ["source"], has_variadic_params = false)]
#[cuda_tile::variadic_op(N = 6)]
pub fn load_padded<
    E: ElementType,
    const S: [i32; N],
    O: ordering::LoadMode,
    Sc: scope::Mode,
    const CYCLES: u32,
>(
    source: PointerTile<*mut E, S>,
    memory_ordering: O,
    memory_scope: Option<Sc>,
    mask: Option<Tile<bool, S>>,
    padding_value: Option<Tile<E, S>>,
    token: Option<Token>,
    latency: Latency<CYCLES>,
) -> (Tile<E, S>, Token) {
    unreachable!()
}

/// A constant of one element type from a literal of another, rounded once. cuTile Rust 0.2.0 spells no constants of a
/// generic type but zero, and `bf16`'s wrongly: this declares Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.constant", params = [], attribute_params = ["value:dense"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn constant_of<V: ElementType, E: ElementType, const S: [i32; N]>(
    value: V,
    shape: Shape<S>,
) -> Tile<E, S> {
    unreachable!()
}

/// Reads through pointers with a padding for each. cuTile Rust 0.2.0 has none for tiles of several axes: this declares
/// Tile IR's operation.
#[cuda_tile::op(name = "cuda_tile.load_ptr_tko", params = ["source"])]
#[cuda_tile::variadic_op(N = 6)]
pub fn load_padded<
    E: ElementType,
    const S: [i32; N],
    O: ordering::LoadMode,
    Sc: scope::Mode,
    const CYCLES: u32,
>(
    source: PointerTile<*mut E, S>,
    memory_ordering: O,
    memory_scope: Option<Sc>,
    mask: Option<Tile<bool, S>>,
    padding_value: Option<Tile<E, S>>,
    token: Option<Token>,
    latency: Latency<CYCLES>,
) -> (Tile<E, S>, Token) {
    unreachable!()
}

/// Minus infinity of the array's element type.
fn minus_infinity_of_declared<E: ElementType>(_array: *mut E) -> E {
    let infinity: Tile<E, { [1] }> = constant_of(f32::NEG_INFINITY, const_shape![1]);
    let infinity: Tile<E, { [] }> = reduce_max(infinity, 0i32);
    let infinity: E = tile_to_scalar(infinity);
    infinity
}
