//! Writes the implementation: `extern "C" fn relu_impl(x: f32, relu_out: *mut f32) { *relu_out = relu(x) }`.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use crate::reading::{Fault, Function, Parameter, Passing};

/// The implementation of an export under its symbol, `<function>_impl` by default.
///
/// Parameters have the span of this macro, so that one with the function's own name does not stand for it in the call.
pub fn implementation(symbol: Option<String>, function: &Function) -> Result<TokenStream, Fault> {
    let plain = function.name.to_string().trim_start_matches("r#").to_string();
    let symbol = symbol.unwrap_or_else(|| format!("{plain}_impl"));
    let slot = identifier(&format!("{plain}_out"), Span::mixed_site())?;
    let symbol = identifier(&symbol, function.name.span())?;

    let mut native = TokenStream::new();
    let mut arguments = TokenStream::new();
    for parameter in &function.parameters {
        native.extend(declaration(parameter));
        arguments.extend(argument(parameter));
    }
    let function_name = TokenTree::from(function.name.clone());
    let call = TokenStream::from_iter([function_name, group(Delimiter::Parenthesis, arguments)]);
    let body = match &function.result {
        None => call,
        Some(kind) => {
            native.extend(chain([
                TokenTree::from(slot.clone()).into(),
                parsed(": *mut"),
                kind.clone(),
            ]));
            chain([parsed("*"), TokenTree::from(slot).into(), parsed("="), call])
        }
    };
    let unsafe_block = chain([
        parsed("unsafe"),
        group(Delimiter::Brace, chain([body, parsed(";")])).into(),
    ]);
    Ok(chain([
        function.conditions.clone(),
        parsed("#[doc(hidden)] #[allow(clippy::missing_safety_doc, non_snake_case, unused_unsafe)]"),
        parsed("#[unsafe(no_mangle)] pub unsafe extern \"C\" fn"),
        TokenTree::from(symbol).into(),
        group(Delimiter::Parenthesis, native).into(),
        group(Delimiter::Brace, unsafe_block).into(),
    ]))
}

/// `x: f32,` or `x: *const f32,`.
fn declaration(parameter: &Parameter) -> TokenStream {
    let pointer = match parameter.passing {
        Passing::Value => "",
        Passing::Shared => "*const",
        Passing::Mutable => "*mut",
    };
    chain([
        local(parameter),
        parsed(":"),
        parsed(pointer),
        parameter.element.clone(),
        parsed(","),
    ])
}

/// `x,` or `&mut *(x as *mut [f32; 4]),`.
fn argument(parameter: &Parameter) -> TokenStream {
    let name = local(parameter);
    let (reference, pointer) = match parameter.passing {
        Passing::Value => return chain([name, parsed(",")]),
        Passing::Shared => ("&*", "*const"),
        Passing::Mutable => ("&mut *", "*mut"),
    };
    let cast = chain([name, parsed("as"), parsed(pointer), parameter.elements.clone()]);
    chain([
        parsed(reference),
        group(Delimiter::Parenthesis, cast).into(),
        parsed(","),
    ])
}

fn local(parameter: &Parameter) -> TokenStream {
    let mut name = parameter.name.clone();
    name.set_span(Span::mixed_site());
    TokenTree::from(name).into()
}

fn identifier(text: &str, span: Span) -> Result<Ident, Fault> {
    const KEYWORDS: &str =
        " Self abstract as async await become box break const continue crate do dyn else enum extern \
        false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static \
        struct super trait true try type typeof unsafe unsized use virtual where while yield _ ";
    if KEYWORDS.contains(&format!(" {text} ")) {
        return Err(Fault::new(span, format!("`{text}` is a keyword, so no symbol")));
    }
    Ok(Ident::new(text, span))
}

fn parsed(text: &str) -> TokenStream {
    text.parse().expect("our own text is Rust")
}

fn group(delimiter: Delimiter, stream: TokenStream) -> TokenTree {
    Group::new(delimiter, stream).into()
}

fn chain<const COUNT: usize>(parts: [TokenStream; COUNT]) -> TokenStream {
    parts.into_iter().collect()
}
