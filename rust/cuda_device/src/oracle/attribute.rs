//! `#[tile_export]` of the oracle: leaves the function as written and adds the entry that calls it over whole arrays.
//!
//! A crate of its own, `cuda_device_oracle`, which rustc builds from this file. `TILEWRIGHT_ORACLE` has a line an export:
//! its symbol, then the entry's number, the elements of the tile, those of a fragment, and whether lanes run in lockstep
//! (`relu_impl 0 128 1 false`). An export without a line gets no entry, one of several sizes has a line for each.

#[path = "../../../cuda_device_macros/src/reading.rs"]
mod reading;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn tile_export(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let entry = reading::symbol_argument(arguments)
        .and_then(|symbol| reading::function(item.clone()).map(|function| entry(symbol, &function)));
    let mut tokens = item;
    tokens.extend(entry.unwrap_or_else(|fault| fault.compile_error()));
    tokens
}

fn entry(symbol: Option<String>, function: &reading::Function) -> TokenStream {
    let name = function.name.to_string();
    let symbol = symbol.unwrap_or_else(|| format!("{}_impl", name.trim_start_matches("r#")));
    let count = function.parameters.len();
    let taken: String = (0..count)
        .map(|parameter| format!("tilewright_tiles.take({parameter}, tilewright_at), "))
        .collect();
    let lines = std::env::var("TILEWRIGHT_ORACLE").unwrap_or_default();
    let entries = lines.lines().filter_map(|line| {
        let [of, number, elements, footprint, lanes] = *line.split(' ').collect::<Vec<_>>() else {
            return None;
        };
        (of == symbol).then(|| entry_of(&name, &taken, count, number, elements, footprint, lanes))
    });
    entries.collect::<String>().parse().expect("our own text is Rust")
}

fn entry_of(
    name: &str,
    taken: &str,
    count: usize,
    number: &str,
    elements: &str,
    footprint: &str,
    lanes: &str,
) -> String {
    format!(
        "#[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern \"C\" fn tilewright_expected_{number}(
            tilewright_tiles: *const *mut ::core::ffi::c_void
        ) -> *const ::core::ffi::c_char {{
            extern crate cuda_device as tilewright_cuda_device;
            tilewright_cuda_device::oracle::expected(
                tilewright_tiles, {elements}, {footprint}, {lanes},
                |tilewright_tiles, tilewright_at| {{
                    tilewright_tiles.put({name}({taken}), {count}, tilewright_at)
                }},
            )
        }}"
    )
}
