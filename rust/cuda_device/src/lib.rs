//! Device functions for tile kernels.
//!
//! Put [`tile_export`] on an ordinary function. `cargo check`, rust-analyzer and unit tests see ordinary Rust: on the
//! host everything of this crate compiles, and what exists on a GPU only panics when it is called.
//!
//! ```
//! use cuda_device::tile_export;
//!
//! /// Elementwise `max(x, 0)`.
//! #[tile_export(tile_shape = 128)]
//! pub fn relu(x: f32) -> f32 {
//!     if x > 0.0 { x } else { 0.0 }
//! }
//!
//! assert_eq!(relu(-1.0), 0.0);
//! ```
//!
//! The device compiler is told `--cfg tilewright_device`; your own code may ask for it, too. `--cfg tilewright_oracle` is
//! set when a library is verified: your functions run on the host, and 32 threads stand in for the lanes of a warp.

#![cfg_attr(tilewright_f16, feature(f16))]

#[cfg(not(tilewright_oracle))]
pub use cuda_device_macros::tile_export;
#[cfg(tilewright_oracle)]
pub use cuda_device_oracle::tile_export;

mod device;
pub mod math;
#[cfg(tilewright_oracle)]
#[doc(hidden)]
pub mod oracle;
pub mod thread;
pub mod warp;
