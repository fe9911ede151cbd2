//! What went wrong with a kernel's source, with the place in its own file where that is known.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use cutile_compiler::error::JITError;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Problem {
    /// `source` (the file does not parse), `request` (it does not fit the file), `compiler`, or `panic`.
    pub kind: &'static str,
    pub message: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
}

impl Problem {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None, column: None }
    }

    pub fn from_error(error: impl std::fmt::Display) -> Self {
        Self::new("request", error.to_string())
    }
}

impl From<syn::Error> for Problem {
    fn from(error: syn::Error) -> Self {
        let start = error.span().start();
        Self { kind: "source", message: error.to_string(), line: Some(start.line), column: Some(start.column) }
    }
}

impl From<JITError> for Problem {
    fn from(error: JITError) -> Self {
        match error {
            JITError::Located(message, place) if place.is_known() => {
                Self { kind: "compiler", message, line: Some(place.line), column: Some(place.column) }
            }
            other => Self::new("compiler", other.to_string()),
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the text of a panic for [`caught`] instead of printing it.
pub fn quiet_panics() {
    panic::set_hook(Box::new(|info| {
        LAST_PANIC.with(|last| *last.borrow_mut() = Some(info.to_string()));
    }));
}

/// Runs the crate's compiler, which panics on some inputs, and makes the panic a [`Problem`].
pub fn caught<T>(work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = LAST_PANIC.with(|last| last.borrow_mut().take());
        Err(Problem::new("panic", text.unwrap_or_else(|| "the compiler panicked".to_string())))
    })
}
