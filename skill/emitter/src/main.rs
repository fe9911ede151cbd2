fn main(){ let keep = cutile::core::__module_ast_self as fn()->cutile_compiler::ast::Module; std::hint::black_box(keep); }
