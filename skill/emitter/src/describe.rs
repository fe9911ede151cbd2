//! What the entries of a kernel file take: type and const generics, and parameters in order.

use quote::ToTokens;
use serde::Serialize;

use crate::problem::Problem;
use crate::source::{Source, entries};

#[derive(Debug, PartialEq, Serialize)]
pub struct Module {
    pub name: String,
    pub entries: Vec<Entry>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Entry {
    pub name: String,
    pub generics: Vec<Generic>,
    pub parameters: Vec<Parameter>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Generic {
    Type { name: String },
    Const { name: String, dtype: String },
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Parameter {
    /// `*mut E`
    Pointer {
        name: String,
        element: String,
    },
    /// `&Tensor<E, {[-1, D]}>`; `shape` holds the words between the brackets.
    Tensor {
        name: String,
        element: String,
        shape: Vec<String>,
        mutable: bool,
    },
    Scalar {
        name: String,
        dtype: String,
    },
}

pub fn modules(source: &Source) -> Result<Vec<Module>, Problem> {
    let described: Result<Vec<Module>, Problem> = source
        .modules
        .iter()
        .map(|module| {
            let entries: Result<Vec<Entry>, Problem> = entries(module).map(entry).collect();
            Ok(Module { name: module.ident.to_string(), entries: entries? })
        })
        .collect();
    let described = described?;
    if described.iter().all(|module| module.entries.is_empty()) {
        return Err(Problem::new("source", "no function is marked #[cutile::entry()]"));
    }
    Ok(described)
}

fn entry(function: &syn::ItemFn) -> Result<Entry, Problem> {
    let signature = &function.sig;
    let generics: Result<Vec<Generic>, Problem> = signature.generics.params.iter().map(generic).collect();
    let parameters: Result<Vec<Parameter>, Problem> = signature.inputs.iter().map(parameter).collect();
    Ok(Entry { name: signature.ident.to_string(), generics: generics?, parameters: parameters? })
}

fn generic(parameter: &syn::GenericParam) -> Result<Generic, Problem> {
    match parameter {
        syn::GenericParam::Type(found) => Ok(Generic::Type { name: found.ident.to_string() }),
        syn::GenericParam::Const(found) => {
            Ok(Generic::Const { name: found.ident.to_string(), dtype: words(&found.ty) })
        }
        syn::GenericParam::Lifetime(found) => Err(syn::Error::new_spanned(found, "an entry takes no lifetimes").into()),
    }
}

fn parameter(input: &syn::FnArg) -> Result<Parameter, Problem> {
    let syn::FnArg::Typed(typed) = input else {
        return Err(syn::Error::new_spanned(input, "an entry takes no self").into());
    };
    let name = match &*typed.pat {
        syn::Pat::Ident(found) => found.ident.to_string(),
        other => return Err(syn::Error::new_spanned(other, "a parameter is one plain name").into()),
    };
    match &*typed.ty {
        syn::Type::Ptr(pointer) => Ok(Parameter::Pointer { name, element: words(&pointer.elem) }),
        syn::Type::Reference(reference) => tensor(name, reference),
        other => Ok(Parameter::Scalar { name, dtype: words(other) }),
    }
}

fn tensor(name: String, reference: &syn::TypeReference) -> Result<Parameter, Problem> {
    let unfit = || syn::Error::new_spanned(reference, "expected &Tensor<E, {[...]}>");
    let syn::Type::Path(path) = &*reference.elem else { return Err(unfit().into()) };
    let last = path.path.segments.last().ok_or_else(unfit)?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(unfit().into()) };
    let mut arguments = arguments.args.iter();
    let (Some(element), Some(shape)) = (arguments.next(), arguments.next()) else { return Err(unfit().into()) };
    let shape = words(shape);
    let inner = shape.trim_matches(|c: char| "{}[] ".contains(c));
    let shape = inner.split(',').map(|word| word.replace(' ', "")).filter(|word| !word.is_empty()).collect();
    Ok(Parameter::Tensor { name, element: words(element), shape, mutable: reference.mutability.is_some() })
}

fn words(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "
        #[cutile::module] pub mod m { use cutile::core::*;
        #[cutile::entry()] unsafe fn k<E: ElementType, const N: i32>(p: *mut E, x: &Tensor<E, {[-1, N]}>, n: i32) {}
        fn helper() {} }";

    #[test]
    fn an_entry_is_described_by_its_generics_and_parameters_in_order() {
        let source = Source::parse("kernel.rs".into(), KERNEL).unwrap();
        let found = modules(&source).unwrap();
        assert_eq!(found.len(), 1);
        let entry = &found[0].entries[0];
        assert_eq!(entry.name, "k");
        assert_eq!(entry.generics[1], Generic::Const { name: "N".into(), dtype: "i32".into() });
        assert_eq!(
            entry.parameters[1],
            Parameter::Tensor {
                name: "x".into(),
                element: "E".into(),
                shape: vec!["-1".into(), "N".into()],
                mutable: false
            }
        );
    }

    #[test]
    fn a_file_without_an_entry_says_so() {
        let source = Source::parse("k.rs".into(), "#[cutile::module] mod m { fn f() {} }").unwrap();
        assert!(modules(&source).unwrap_err().message.contains("#[cutile::entry()]"));
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let problem = Source::parse("k.rs".into(), "#[cutile::module]\nmod m { fn f( }").err().unwrap();
        assert_eq!(problem.line, Some(2));
    }
}
