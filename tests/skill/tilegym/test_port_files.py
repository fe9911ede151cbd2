"""What a `kernel.rs` declares, read from its text."""

from __future__ import annotations

from tileport_skill.tilegym.port_files import declared_entries

KERNEL = """#[cutile::module]
pub mod m {
    fn helper() {}

    #[cutile::entry(print_ir = false,
                    unchecked_accesses = true)]
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn first<E: ElementType, const N: i32>(x: *mut E) {}

    #[ cutile::entry ]
    fn second() {}
}
"""


def test_entries_come_in_order_past_options_attributes_and_generics_and_helpers_are_none() -> None:
    assert declared_entries(KERNEL) == ("first", "second")
    assert declared_entries("fn helper() {}") == ()
