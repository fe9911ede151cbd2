//! A kernel file parsed into its `#[cutile::module]`s.

use std::path::Path;

use cutile_compiler::ast::{Module, SpanBase};

use crate::problem::Problem;

const LARGEST: u64 = 4 << 20;

pub struct Source {
    file: String,
    pub modules: Vec<syn::ItemMod>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let size = std::fs::metadata(path).map_err(Problem::from_error)?.len();
        if size > LARGEST {
            return Err(Problem::new("source", format!("{size} bytes are more than a kernel may have ({LARGEST})")));
        }
        let text = std::fs::read_to_string(path).map_err(Problem::from_error)?;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parse(file, &text)
    }

    pub fn parse(file: String, text: &str) -> Result<Self, Problem> {
        let modules: Vec<syn::ItemMod> = syn::parse_file(text)?
            .items
            .into_iter()
            .filter_map(|item| match item {
                syn::Item::Mod(module) if is_tile_module(&module) => Some(module),
                _ => None,
            })
            .collect();
        if modules.is_empty() {
            return Err(Problem::new("source", "no module is marked #[cutile::module]"));
        }
        Ok(Self { file, modules })
    }

    /// The module holding the entry `name`; with `module` given, only that one is looked at.
    pub fn module_of_entry(&self, module: Option<&str>, name: &str) -> Result<&syn::ItemMod, Problem> {
        let holding: Vec<&syn::ItemMod> = self
            .modules
            .iter()
            .filter(|candidate| module.is_none_or(|wanted| candidate.ident == wanted))
            .filter(|candidate| entries(candidate).any(|entry| entry.sig.ident == name))
            .collect();
        match holding.as_slice() {
            [one] => Ok(one),
            [] => Err(Problem::new("request", format!("no entry is named {name}"))),
            _ => Err(Problem::new("request", format!("{name} is an entry of several modules; name the module"))),
        }
    }

    /// The module as the macro would hand it to the crate's compiler, with the file's own line numbers.
    pub fn tile_module(&self, module: &syn::ItemMod) -> Module {
        // Keeps the crate's own tile modules in the program: they register themselves, nothing else names them.
        std::hint::black_box(cutile::core::__module_ast_self as fn() -> Module);
        let mut bare = module.clone();
        bare.attrs.clear();
        // The crate wants names that live as long as the program, which here is one file's requests.
        let name: &'static str = Box::leak(module.ident.to_string().into_boxed_str());
        let mut made = Module::with_span_base(name, bare, SpanBase::new(self.file.clone(), 1, 0));
        made.set_absolute_path(format!("tileport_emitter::{name}"));
        made
    }
}

/// The functions of a module marked `#[cutile::entry(...)]`.
pub fn entries(module: &syn::ItemMod) -> impl Iterator<Item = &syn::ItemFn> {
    module.content.iter().flat_map(|(_, items)| items).filter_map(|item| match item {
        syn::Item::Fn(function) if has_attribute(&function.attrs, "entry") => Some(function),
        _ => None,
    })
}

fn is_tile_module(module: &syn::ItemMod) -> bool {
    has_attribute(&module.attrs, "module")
}

/// `#[cutile::NAME]` or `#[NAME]`, with or without arguments.
fn has_attribute(attributes: &[syn::Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().segments.last().is_some_and(|last| last.ident == name))
}
