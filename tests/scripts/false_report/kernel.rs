// y = factor * x; takes the reference's own parameters.

#[cutile::module]
pub mod scale_module {
    use cutile::core::*;

    #[cutile::entry(unchecked_accesses = true)]
    pub unsafe fn scale<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
        factor: f32,
    ) {
        let block: i32 = get_tile_block_id().0;
        let read: Partition<E, { [TILE] }> = x.partition(const_shape![TILE]);
        let tile: Tile<E, { [TILE] }> = read.load([block]);
        let tile: Tile<f32, { [TILE] }> = convert_tile(tile);
        let factor: Tile<f32, { [TILE] }> = broadcast_scalar(factor, const_shape![TILE]);
        let scaled: Tile<f32, { [TILE] }> = tile + factor;
        let scaled: Tile<E, { [TILE] }> = convert_tile(scaled);
        let mut written: PartitionMut<E, { [TILE] }> = unsafe { y.partition_full_mut(const_shape![TILE]) };
        unsafe { written.store(scaled, [block]) };
    }
}
