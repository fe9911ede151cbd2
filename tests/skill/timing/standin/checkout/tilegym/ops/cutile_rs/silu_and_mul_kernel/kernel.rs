#[cutile::module]
pub mod silu_module {
    #[cutile::entry(
        unchecked_accesses = true
    )]
    pub unsafe fn silu_entry<E: ElementType>(x: *mut E) {}
}
