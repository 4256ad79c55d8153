//! The generator, and the responder whose settings its reports are checked by.

#![forbid(unsafe_code)]

pub mod generator;
mod random;
pub mod responder;
mod table;
mod words;
