// y = factor * x; takes the reference's own parameters.

#[cutile::module]
pub mod scale_module {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn scale<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
        factor: f32,
    ) {
        let _unused: i32 = get_tile_block_id().0;
    }
}
