// drafted: translated from the cuTile Python source by `tileport-skill draft`.
// Not translated: _running_kernel (line 64): `cuda.tile.cumsum`, for which there is no translation yet.
// Not translated: _square_kernel (line 108): `ct.gather(x, (rows, columns))` of several axes; with --declare it can be said.

#[cutile::module]
pub mod drafted_module {
    use cutile::core::*;

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

    /// A constant of type `f32`, which Rust takes as its bits.
    fn f32_from_bits(bits: i32) -> f32 {
        let bits: Tile<i32, { [] }> = scalar_to_tile(bits);
        let value: Tile<f32, { [] }> = bitcast(bits);
        let value: f32 = tile_to_scalar(value);
        value
    }

    /// `ct.gather(array, index_0)`: lanes outside the array read zero.
    unsafe fn gather_at_lanes_strided<E: ElementType, const N: i32>(
        array: *mut E,
        size_0: i32,
        stride_0: i32,
        index_0: Tile<i32, { [N] }>,
    ) -> Tile<E, { [N] }> {
        let mask = inside(index_0, size_0);
        let wide_0: Tile<i64, { [N] }> = exti(index_0);
        let offset = wide_0 * lanes(stride_0, index_0);
        let pointers = addresses(array, offset);
        unsafe { read_masked(pointers, mask, zero_of(array)) }
    }

    /// `ct.gather(array, (index_0, index_1, index_2))`: lanes outside the array read zero.
    unsafe fn gather_at_scalar_scalar_lanes<E: ElementType, const N: i32>(
        array: *mut E,
        size_0: i32,
        size_1: i32,
        size_2: i32,
        stride_0: i32,
        stride_1: i32,
        index_0: i32,
        index_1: i32,
        index_2: Tile<i32, { [N] }>,
    ) -> Tile<E, { [N] }> {
        let mask = row_inside(index_0, size_0, index_2);
        let wide_0 = lanes(index_0, index_2);
        let offset = wide_0 * lanes(stride_0, index_2);
        let mask = mask & row_inside(index_1, size_1, index_2);
        let wide_1 = lanes(index_1, index_2);
        let offset = offset + wide_1 * lanes(stride_1, index_2);
        let mask = mask & inside(index_2, size_2);
        let wide_2: Tile<i64, { [N] }> = exti(index_2);
        let offset = offset + wide_2;
        let pointers = addresses(array, offset);
        unsafe { read_masked(pointers, mask, zero_of(array)) }
    }

    /// `ct.scatter(array, (index_0, index_1, index_2), value)`: lanes outside the array are not written.
    /// Nor are those outside `selected`.
    unsafe fn scatter_at_scalar_lanes_lanes_where<E: ElementType, const N: i32>(
        array: *mut E,
        size_0: i32,
        size_1: i32,
        size_2: i32,
        stride_0: i32,
        stride_1: i32,
        index_0: i32,
        index_1: Tile<i32, { [N] }>,
        index_2: Tile<i32, { [N] }>,
        value: Tile<E, { [N] }>,
        selected: Tile<bool, { [N] }>,
    ) {
        let mask = row_inside(index_0, size_0, index_1);
        let wide_0 = lanes(index_0, index_1);
        let offset = wide_0 * lanes(stride_0, index_1);
        let mask = mask & inside(index_1, size_1);
        let wide_1: Tile<i64, { [N] }> = exti(index_1);
        let offset = offset + wide_1 * lanes(stride_1, index_1);
        let mask = mask & inside(index_2, size_2);
        let wide_2: Tile<i64, { [N] }> = exti(index_2);
        let offset = offset + wide_2;
        let mask = mask & selected;
        let pointers = addresses(array, offset);
        unsafe { write_masked(pointers, value, mask) };
    }

    fn squared<const BLOCK: i32>(x: Tile<f32, { [BLOCK] }>) -> Tile<f32, { [BLOCK] }> {
        x * x
    }

    /// y = x where x is positive, else a quarter of it; squared on request.
    ///
    /// For calls where `x.stride(-1) == 1`.
    ///
    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry()]
    pub unsafe fn leaky_kernel<E: ElementType, const BLOCK: i32, const SQUARE: bool>(
        x: *mut E,
        x_length: i32,
        _x_stride: i32,
        y: *mut E,
        y_length: i32,
        _y_stride: i32,
    ) {
        let x_length = size_of(x_length);
        let y_length = size_of(y_length);
        let block = get_tile_block_id().0;
        let offsets = block * BLOCK;
        let lanes: Tile<i32, { [BLOCK] }> = iota(const_shape![BLOCK]);
        let offsets = broadcast_scalar(offsets, const_shape![BLOCK]) + lanes;
        let tile: Tile<f32, { [BLOCK] }> = convert_tile(unsafe { gather(x, x_length, offsets) });

        // The slope is a global of the module.
        let zero: Tile<f32, { [BLOCK] }> = constant(0.0f32, const_shape![BLOCK]);
        let slope: Tile<f32, { [BLOCK] }> = constant(0.25f32, const_shape![BLOCK]);
        let result = select(gt_tile(tile, zero), tile, tile * slope);
        let result: Tile<f32, { [BLOCK] }> = if SQUARE { squared(result) } else { result };
        let result_e: Tile<E, { [BLOCK] }> = convert_tile(result);
        unsafe { scatter(y, y_length, offsets, result_e) };
    }

    /// y = x where x is positive, else a quarter of it; squared on request.
    ///
    /// For calls where `x.stride(-1) != 1` and `not SQUARE`.
    ///
    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1 but for `x`.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry()]
    pub unsafe fn leaky_kernel_strided<E: ElementType, const BLOCK: i32>(
        x: *mut E,
        x_length: i32,
        x_stride: i32,
        y: *mut E,
        y_length: i32,
        _y_stride: i32,
    ) {
        let x_length = size_of(x_length);
        let x_stride = size_of(x_stride);
        let y_length = size_of(y_length);
        let block = get_tile_block_id().0;
        let offsets = block * BLOCK;
        let lanes: Tile<i32, { [BLOCK] }> = iota(const_shape![BLOCK]);
        let offsets = broadcast_scalar(offsets, const_shape![BLOCK]) + lanes;
        let tile: Tile<f32, { [BLOCK] }> =
            convert_tile(unsafe { gather_at_lanes_strided(x, x_length, x_stride, offsets) });

        // The slope is a global of the module.
        let zero: Tile<f32, { [BLOCK] }> = constant(0.0f32, const_shape![BLOCK]);
        let slope: Tile<f32, { [BLOCK] }> = constant(0.25f32, const_shape![BLOCK]);
        let result = select(gt_tile(tile, zero), tile, tile * slope);
        let result_e: Tile<E, { [BLOCK] }> = convert_tile(result);
        unsafe { scatter(y, y_length, offsets, result_e) };
    }

    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn rows_kernel<E: ElementType, const ROWS: i32, const TILE: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        w: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1, -1] }>,
        factor: f32,
    ) {
        let weight: Tile<f32, { [TILE] }> = convert_tile(w.partition(const_shape![TILE]).load([0]));
        for row in (get_tile_block_id().0..ROWS).step_by(get_num_tile_blocks().0 as usize) {
            let tile: Tile<f32, { [1, TILE] }> =
                convert_tile(x.partition(const_shape![1, TILE]).load([row, 0]));
            let mean: Tile<f32, { [1] }> = reduce_sum(tile, 1i32);
            let mean: Tile<f32, { [1, 1] }> = mean.reshape(const_shape![1, 1]);
            let tile_f32: f32 = convert_scalar(TILE);
            let mean = mean / broadcast_scalar(tile_f32, const_shape![1, 1]);
            // One multiplication and one addition, which the compiler makes one operation.
            let scaled: Tile<f32, { [1, TILE] }> = weight.reshape(const_shape![1, TILE]);
            let scaled = fma(
                tile - mean.broadcast(const_shape![1, TILE]),
                broadcast_scalar(factor, const_shape![1, TILE]),
                scaled,
                rounding::NearestEven,
                ftz::Disabled,
            );
            let scaled_e: Tile<E, { [1, TILE] }> = convert_tile(scaled);
            unsafe {
                y.partition_full_mut(const_shape![1, TILE])
                    .store(scaled_e, [row, 0])
            };
        }
    }

    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn halves_kernel<E: ElementType, const TILE: i32>(x: &Tensor<E, { [-1, -1] }>) {
        let row = get_tile_block_id().0;
        let left_view: Partition<E, { [1, TILE] }> = x.partition(const_shape![1, TILE]);
        let left: Tile<E, { [1, TILE] }> = load_view_tko(
            &left_view,
            [row, 0i32],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        );
        let right_view: Partition<E, { [1, TILE] }> = x.partition(const_shape![1, TILE]);
        let right: Tile<E, { [1, TILE] }> = load_view_tko(
            &right_view,
            [row, 1i32],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        );
        // In place: both halves are read before one is written.
        let x_order = join_tokens(&[
            get_partition_token(&left_view),
            get_partition_token(&right_view),
        ]);
        let mut x_view: PartitionMut<E, { [1, TILE] }> =
            unsafe { make_partition_view_mut(x, const_shape![1, TILE], padding::None, x_order) };
        unsafe { x_view.store(right, [row, 0]) };
        let mut x_view: PartitionMut<E, { [1, TILE] }> = unsafe {
            make_partition_view_mut(
                x,
                const_shape![1, TILE],
                padding::None,
                get_partition_token_mut(&x_view),
            )
        };
        unsafe { x_view.store(left, [row, 1]) };
    }

    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn product_kernel<E: ElementType, EMma: ElementType, const TILE: i32>(
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
        c: &Tensor<E, { [-1, -1] }>,
    ) {
        let row = get_tile_block_id().0;
        let column = get_tile_block_id().1;
        let mut total: Tile<f32, { [TILE, TILE] }> = constant(0.0f32, const_shape![TILE, TILE]);
        let a_tiles = a.partition(const_shape![TILE, TILE]);
        for k in 0..num_tiles(&a_tiles, 1) {
            let left: Tile<EMma, { [TILE, TILE] }> =
                convert_tile(a.partition(const_shape![TILE, TILE]).load([row, k]));
            let right: Tile<EMma, { [TILE, TILE] }> =
                convert_tile(b.partition(const_shape![TILE, TILE]).load([k, column]));
            total = mmaf(left, right, total);
        }
        let total_e: Tile<E, { [TILE, TILE] }> = convert_tile(total);
        unsafe {
            c.partition_full_mut(const_shape![TILE, TILE])
                .store(total_e, [row, column])
        };
    }

    /// # Generics
    /// `TILE_OVER_TWO`: `TILE // 2`
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn half_tile_kernel<E: ElementType, const TILE_OVER_TWO: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
    ) {
        let tile_view: Partition<E, { [TILE_OVER_TWO] }> = make_partition_view(
            x,
            const_shape![TILE_OVER_TWO],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile = tile_view.load([0]);
        unsafe {
            y.partition_full_mut(const_shape![TILE_OVER_TWO])
                .store(tile, [0])
        };
    }

    /// # Generics
    /// `P_BELOW_ONE`: `P < 1.0`
    /// `ONE_OVER_ONE_MINUS_P_BITS`: the bits of `1.0 / (1.0 - P) if P < 1.0 else 0`
    ///
    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry()]
    pub unsafe fn thinned_kernel<
        E: ElementType,
        const P_BITS: i32,
        const BLOCK: i32,
        const P_BELOW_ONE: bool,
        const ONE_OVER_ONE_MINUS_P_BITS: i32,
    >(
        x: *mut E,
        x_length: i32,
        _x_stride: i32,
        y: *mut E,
        y_length: i32,
        _y_stride: i32,
    ) {
        let x_length = size_of(x_length);
        let y_length = size_of(y_length);
        let p = f32_from_bits(P_BITS);
        let offsets = get_tile_block_id().0 * BLOCK;
        let lanes: Tile<i32, { [BLOCK] }> = iota(const_shape![BLOCK]);
        let offsets = broadcast_scalar(offsets, const_shape![BLOCK]) + lanes;
        let tile = unsafe { gather(x, x_length, offsets) };
        let scale: Tile<E, { [BLOCK] }> = constant(E::ZERO, const_shape![BLOCK]);
        let scale: Tile<E, { [BLOCK] }> = if P_BELOW_ONE {
            // Folded when the kernel is compiled.
            let one_over_one_minus_p = f32_from_bits(ONE_OVER_ONE_MINUS_P_BITS);
            let one_over_one_minus_p_e: E = convert_scalar(one_over_one_minus_p);
            broadcast_scalar(one_over_one_minus_p_e, const_shape![BLOCK])
        } else {
            scale
        };
        unsafe { scatter(y, y_length, offsets, tile * scale) };
    }

    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn below_kernel<E: ElementType, const CAUSAL: i32, const TILE: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        y: &Tensor<E, { [-1, -1] }>,
        first: i32,
    ) {
        let mut total: Tile<f32, { [1, TILE] }> = constant(0.0f32, const_shape![1, TILE]);
        let x_tiles = x.partition(const_shape![1, TILE]);
        let count = num_tiles(&x_tiles, 1);
        let j_split = first;
        let j_start: i32 = 0;
        let j_first_stop: i32 = if CAUSAL != 0 {
            min(count, j_split)
        } else {
            count
        };
        let j_second_start = max(j_start, j_split);
        for j in 0..j_first_stop {
            let tile: Tile<f32, { [1, TILE] }> =
                convert_tile(x.partition(const_shape![1, TILE]).load([0, j]));
            total = total + tile;
        }
        if CAUSAL != 0 {
            for j in j_second_start..count {
                let tile: Tile<f32, { [1, TILE] }> =
                    convert_tile(x.partition(const_shape![1, TILE]).load([0, j]));
                let half: Tile<f32, { [1, TILE] }> = constant(0.5f32, const_shape![1, TILE]);
                let tile = tile * half;
                total = total + tile;
            }
        }
        let total_e: Tile<E, { [1, TILE] }> = convert_tile(total);
        unsafe {
            y.partition_full_mut(const_shape![1, TILE])
                .store(total_e, [0, 0])
        };
    }

    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry()]
    pub unsafe fn box_kernel<E: ElementType, const TILE: i32>(
        x: *mut E,
        x_size_0: i32,
        x_size_1: i32,
        x_size_2: i32,
        x_stride_0: i32,
        x_stride_1: i32,
        _x_stride_2: i32,
        y: *mut E,
        y_size_0: i32,
        y_size_1: i32,
        y_size_2: i32,
        y_stride_0: i32,
        y_stride_1: i32,
        _y_stride_2: i32,
    ) {
        let x_size_0 = size_of(x_size_0);
        let x_size_1 = size_of(x_size_1);
        let x_size_2 = size_of(x_size_2);
        let x_stride_0 = size_of(x_stride_0);
        let x_stride_1 = size_of(x_stride_1);
        let y_size_0 = size_of(y_size_0);
        let y_size_1 = size_of(y_size_1);
        let y_size_2 = size_of(y_size_2);
        let y_stride_0 = size_of(y_stride_0);
        let y_stride_1 = size_of(y_stride_1);
        let lanes: Tile<i32, { [TILE] }> = iota(const_shape![TILE]);
        // Three indices: two numbers and a tile.
        let line = unsafe {
            gather_at_scalar_scalar_lanes(
                x,
                x_size_0,
                x_size_1,
                x_size_2,
                x_stride_0,
                x_stride_1,
                get_tile_block_id().0,
                0,
                lanes,
            )
        };
        let constant_5: Tile<i32, { [TILE] }> = constant(5i32, const_shape![TILE]);
        unsafe {
            scatter_at_scalar_lanes_lanes_where(
                y,
                y_size_0,
                y_size_1,
                y_size_2,
                y_stride_0,
                y_stride_1,
                get_tile_block_id().0,
                lanes,
                lanes,
                line,
                lt_tile(lanes, constant_5),
            )
        };
    }

    /// For calls where `x.ndim == 1`.
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn either_rank_kernel<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
    ) {
        let tile_view: Partition<E, { [TILE] }> = make_partition_view(
            x,
            const_shape![TILE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile = tile_view.load([get_tile_block_id().0]);
        unsafe {
            y.partition_full_mut(const_shape![TILE])
                .store(tile, [get_tile_block_id().0])
        };
    }

    /// For calls where `x.ndim == 2`.
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn either_rank_kernel_2<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        y: &Tensor<E, { [-1] }>,
    ) {
        let tile_view: Partition<E, { [1, TILE] }> = make_partition_view(
            x,
            const_shape![1, TILE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile: Tile<E, { [TILE] }> = tile_view
            .load([get_tile_block_id().0, 0])
            .reshape(const_shape![TILE]);
        unsafe {
            y.partition_full_mut(const_shape![TILE])
                .store(tile, [get_tile_block_id().0])
        };
    }

    /// For calls where `TILE == OTHER`.
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn same_size_kernel<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
    ) {
        let tile_view: Partition<E, { [TILE] }> = make_partition_view(
            x,
            const_shape![TILE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile = tile_view.load([get_tile_block_id().0]);
        unsafe {
            y.partition_full_mut(const_shape![TILE])
                .store(tile, [get_tile_block_id().0])
        };
    }

    /// Rows less their means, which are read where they are known, and else kept for another kernel.
    ///
    /// For calls where `not ROWS != 1`.
    ///
    /// # Generics
    /// `D_VALUE`: `D`
    ///
    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1.
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn centred_kernel<E: ElementType, const KNOWN: i32, const D_VALUE: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        means: *mut f32,
        means_length: i32,
        _means_stride: i32,
        y: &Tensor<E, { [-1, -1] }>,
    ) {
        let means_length = size_of(means_length);
        // `means` as a tensor, for the accesses by tiles
        let sizes: &[i32] = &[means_length];
        let shape: Shape<{ [-1] }> = Shape::<{ [-1] }> { dims: sizes };
        let steps: &[i32] = &[];
        let strides: Array<{ [1] }> = Array::<{ [1] }> { dims: steps };
        let base: PointerTile<*mut f32, { [] }> = pointer_to_tile(means);
        let token: Token = new_token_unordered();
        let means_tensor = unsafe { make_tensor_view(base, shape, strides, token) };
        let tile_view: Partition<E, { [1, D_VALUE] }> = make_partition_view(
            x,
            const_shape![1, D_VALUE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile: Tile<f32, { [1, D_VALUE] }> =
            convert_tile(tile_view.load([get_tile_block_id().0, 0]));
        let mean: Tile<f32, { [1] }> = if KNOWN != 0 {
            let mean = get_tile_block_id().0 * 1;
            let lanes: Tile<i32, { [1] }> = iota(const_shape![1]);
            unsafe {
                gather(
                    means,
                    means_length,
                    broadcast_scalar(mean, const_shape![1]) + lanes,
                )
            }
        } else {
            let mean: Tile<f32, { [1] }> = reduce_sum(tile, 1i32);
            let mean: Tile<f32, { [1] }> = mean.reshape(const_shape![1]);
            let d_value_f32: f32 = convert_scalar(D_VALUE);
            let mean = mean / broadcast_scalar(d_value_f32, const_shape![1]);
            unsafe {
                means_tensor
                    .partition_full_mut(const_shape![1])
                    .store(mean, [get_tile_block_id().0])
            };
            mean
        };

        // One mean is subtracted from all elements as it is
        let centred = tile
            - mean
                .reshape(const_shape![1, 1])
                .broadcast(const_shape![1, D_VALUE]);
        let centred_e: Tile<E, { [1, D_VALUE] }> = convert_tile(centred);
        unsafe {
            y.partition_full_mut(const_shape![1, D_VALUE])
                .store(centred_e, [get_tile_block_id().0, 0])
        };
    }

    /// Rows less their means, which are read where they are known, and else kept for another kernel.
    ///
    /// For calls where `ROWS != 1`.
    ///
    /// # Generics
    /// `D_VALUE`: `D`
    ///
    /// # Safety
    /// Pointers point to arrays of the given sizes and strides, whose last stride is 1.
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn centred_kernel_2<
        E: ElementType,
        const KNOWN: i32,
        const ROWS: i32,
        const D_VALUE: i32,
    >(
        x: &Tensor<E, { [-1, -1] }>,
        means: *mut f32,
        means_length: i32,
        _means_stride: i32,
        y: &Tensor<E, { [-1, -1] }>,
    ) {
        let means_length = size_of(means_length);
        // `means` as a tensor, for the accesses by tiles
        let sizes: &[i32] = &[means_length];
        let shape: Shape<{ [-1] }> = Shape::<{ [-1] }> { dims: sizes };
        let steps: &[i32] = &[];
        let strides: Array<{ [1] }> = Array::<{ [1] }> { dims: steps };
        let base: PointerTile<*mut f32, { [] }> = pointer_to_tile(means);
        let token: Token = new_token_unordered();
        let means_tensor = unsafe { make_tensor_view(base, shape, strides, token) };
        let tile_view: Partition<E, { [ROWS, D_VALUE] }> = make_partition_view(
            x,
            const_shape![ROWS, D_VALUE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile: Tile<f32, { [ROWS, D_VALUE] }> =
            convert_tile(tile_view.load([get_tile_block_id().0, 0]));
        let mean: Tile<f32, { [ROWS] }> = if KNOWN != 0 {
            let mean = get_tile_block_id().0 * ROWS;
            let lanes: Tile<i32, { [ROWS] }> = iota(const_shape![ROWS]);
            unsafe {
                gather(
                    means,
                    means_length,
                    broadcast_scalar(mean, const_shape![ROWS]) + lanes,
                )
            }
        } else {
            let mean: Tile<f32, { [ROWS] }> = reduce_sum(tile, 1i32);
            let mean: Tile<f32, { [ROWS] }> = mean.reshape(const_shape![ROWS]);
            let d_value_f32: f32 = convert_scalar(D_VALUE);
            let mean = mean / broadcast_scalar(d_value_f32, const_shape![ROWS]);
            unsafe {
                means_tensor
                    .partition_full_mut(const_shape![ROWS])
                    .store(mean, [get_tile_block_id().0])
            };
            mean
        };

        // One mean is subtracted from all elements as it is
        let mean: Tile<f32, { [ROWS, 1] }> = mean.reshape(const_shape![ROWS, 1]);
        let centred = tile - mean.broadcast(const_shape![ROWS, D_VALUE]);
        let centred_e: Tile<E, { [ROWS, D_VALUE] }> = convert_tile(centred);
        unsafe {
            y.partition_full_mut(const_shape![ROWS, D_VALUE])
                .store(centred_e, [get_tile_block_id().0, 0])
        };
    }

    /// Zeros behind a length; a bias where there is one.
    ///
    /// For calls where `not BIAS == 1` and `TILE > BIAS`.
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn padded_kernel<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        _bias: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
        length: i32,
    ) {
        let row = get_tile_block_id().0;

        // Behind the length
        if row * TILE >= length {
            let y_tile: Tile<E, { [TILE] }> = constant(E::ZERO, const_shape![TILE]);
            let mut y_view: PartitionMut<E, { [TILE] }> =
                unsafe { y.partition_full_mut(const_shape![TILE]) };
            unsafe { y_view.store(y_tile, [row]) };
        } else {
            let zero: i32 = 0;
            let first = max(zero, row - 1);
            let tile_view: Partition<E, { [TILE] }> = make_partition_view(
                x,
                const_shape![TILE],
                padding::None,
                dim_map::Identity,
                get_tensor_token(x),
            );
            let tile = tile_view.load([first]);
            let mut y_view: PartitionMut<E, { [TILE] }> =
                unsafe { y.partition_full_mut(const_shape![TILE]) };
            unsafe { y_view.store(tile, [row]) };
        }
    }

    /// Zeros behind a length; a bias where there is one.
    ///
    /// For calls where `BIAS == 1` and `TILE > BIAS`.
    ///
    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn padded_kernel_2<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        bias: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
        length: i32,
    ) {
        let row = get_tile_block_id().0;
        let extra_view: Partition<E, { [TILE] }> = make_partition_view(
            bias,
            const_shape![TILE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(bias),
        );
        let extra = extra_view.load([row]);

        // Behind the length
        if row * TILE >= length {
            let y_tile: Tile<E, { [TILE] }> = constant(E::ZERO, const_shape![TILE]);
            let mut y_view: PartitionMut<E, { [TILE] }> =
                unsafe { y.partition_full_mut(const_shape![TILE]) };
            unsafe { y_view.store(y_tile, [row]) };
        } else {
            let zero: i32 = 0;
            let first = max(zero, row - 1);
            let tile_view: Partition<E, { [TILE] }> = make_partition_view(
                x,
                const_shape![TILE],
                padding::None,
                dim_map::Identity,
                get_tensor_token(x),
            );
            let tile = tile_view.load([first]);
            let tile = tile + extra;
            let mut y_view: PartitionMut<E, { [TILE] }> =
                unsafe { y.partition_full_mut(const_shape![TILE]) };
            unsafe { y_view.store(tile, [row]) };
        }
    }

    /// # Safety
    /// The grid covers the tensors' tiles and no more: accesses are not checked.
    /// No block writes what another reads or writes, and arrays do not overlap.
    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn flags_kernel<E: ElementType, const FLAGS: i32, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
    ) {
        let tile_view: Partition<E, { [TILE] }> = make_partition_view(
            x,
            const_shape![TILE],
            padding::None,
            dim_map::Identity,
            get_tensor_token(x),
        );
        let tile = tile_view.load([get_tile_block_id().0]);
        let tile: Tile<E, { [TILE] }> = if FLAGS & 1 != 0 { tile + tile } else { tile };
        unsafe {
            y.partition_full_mut(const_shape![TILE])
                .store(tile, [get_tile_block_id().0])
        };
    }
}
