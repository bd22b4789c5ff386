//! `#[tile_export]`: leaves the function as written and adds its implementation on the native ABI.

mod export;
mod reading;

use proc_macro::TokenStream;

/// Exports a function to tile kernels.
///
/// The arguments are `tile_shape = 128` or `tile_shapes = [64, 128]`, `name = "..."`, `symbol = "..."`, `sync = "none"` or `"warp"`,
/// `arch = ["sm_120"]` and `max_ulps = 4`. Beside the function stands
/// `extern "C" fn <function>_impl`, which takes an `in` scalar by value, everything else by pointer, and stores the result
/// through `<function>_out`.
///
/// The whole set of rules is checked when the library is built; here only what would make wrong Rust is.
#[proc_macro_attribute]
pub fn tile_export(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let implementation = reading::symbol_argument(arguments)
        .and_then(|symbol| reading::function(item.clone()).map(|function| (symbol, function)))
        .and_then(|(symbol, function)| export::implementation(symbol, &function));
    let mut tokens = item;
    tokens.extend(implementation.unwrap_or_else(|fault| fault.compile_error()));
    tokens
}
