//! Expected values: the user's own functions, called on the host over whole arrays. No part of a library.
//!
//! `attribute.rs` beside this module is the root of a crate of its own, the `tile_export` of this build. It writes no
//! implementation on the native ABI, so that nothing here can share a fault with one.

mod call;
mod libdevice;
pub mod warp;

pub use call::{expected, Tiles};
