//! Reads the attribute's arguments and the function's head out of their tokens.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What is wrong, and at which token.
pub struct Fault {
    span: Span,
    message: String,
}

impl Fault {
    pub fn new(span: Span, message: impl Into<String>) -> Fault {
        Fault {
            span,
            message: message.into(),
        }
    }

    /// `::core::compile_error! { "message" }`, shown by rustc at the token.
    pub fn compile_error(&self) -> TokenStream {
        let mut message = Literal::string(&self.message);
        message.set_span(self.span);
        let mut text = Group::new(Delimiter::Brace, TokenTree::from(message).into());
        text.set_span(self.span);
        let mut tokens: Vec<TokenTree> = path(&["core", "compile_error"], self.span);
        tokens.push(punct('!', Spacing::Alone, self.span));
        tokens.push(text.into());
        tokens.into_iter().collect()
    }
}

fn punct(character: char, spacing: Spacing, span: Span) -> TokenTree {
    let mut punct = Punct::new(character, spacing);
    punct.set_span(span);
    punct.into()
}

fn path(parts: &[&str], span: Span) -> Vec<TokenTree> {
    let mut tokens = Vec::new();
    for part in parts {
        tokens.push(punct(':', Spacing::Joint, span));
        tokens.push(punct(':', Spacing::Alone, span));
        tokens.push(Ident::new(part, span).into());
    }
    tokens
}

/// How the function takes a parameter.
#[derive(Clone, Copy, PartialEq)]
pub enum Passing {
    Value,
    Shared,
    Mutable,
}

/// One parameter: `element` is `T`, `elements` the type behind the reference (`T` or `[T; F]`).
pub struct Parameter {
    pub name: Ident,
    pub passing: Passing,
    pub element: TokenStream,
    pub elements: TokenStream,
}

/// The head of the function. `conditions` are its `#[cfg]` attributes.
pub struct Function {
    pub name: Ident,
    pub parameters: Vec<Parameter>,
    pub result: Option<TokenStream>,
    pub conditions: TokenStream,
}

/// The value of `symbol = "..."`; what is unknown or malformed is left to the build of the library.
pub fn symbol_argument(arguments: TokenStream) -> Result<Option<String>, Fault> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    for part in tokens.split(|token| is_punct(token, ',')) {
        let [label, equals, TokenTree::Literal(value)] = part else {
            continue;
        };
        if !is_word(label, "symbol") || !is_punct(equals, '=') {
            continue;
        }
        let text = value.to_string();
        return match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) if is_identifier(inner) => Ok(Some(inner.to_string())),
            _ => Err(Fault::new(value.span(), "`symbol` is an ASCII identifier in quotes")),
        };
    }
    Ok(None)
}

fn is_identifier(text: &str) -> bool {
    let mut letters = text.bytes();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

/// Reads `attributes visibility qualifiers fn name(parameters) -> result { .. }`.
pub fn function(item: TokenStream) -> Result<Function, Fault> {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let mut at = 0;
    let mut conditions = TokenStream::new();
    while let [hash, TokenTree::Group(group), ..] = &tokens[at..] {
        if !is_punct(hash, '#') || group.delimiter() != Delimiter::Bracket {
            break;
        }
        if group
            .stream()
            .into_iter()
            .next()
            .is_some_and(|first| is_word(&first, "cfg"))
        {
            conditions.extend([hash.clone(), group.clone().into()]);
        }
        at += 2;
    }
    let Some(offset) = tokens[at..].iter().position(|token| is_word(token, "fn")) else {
        let span = tokens.get(at).map_or_else(Span::call_site, TokenTree::span);
        return Err(Fault::new(span, "tile_export stands on something that is no function"));
    };
    for qualifier in &tokens[at..at + offset] {
        for word in ["async", "unsafe", "extern"] {
            if is_word(qualifier, word) {
                return Err(Fault::new(
                    qualifier.span(),
                    format!("a tile export is no `{word}` function"),
                ));
            }
        }
    }
    at += offset + 1;
    let Some(TokenTree::Ident(name)) = tokens.get(at) else {
        return Err(Fault::new(Span::call_site(), "a tile export has a name"));
    };
    at = after_lifetimes(&tokens, at + 1)?;
    let Some(TokenTree::Group(list)) = tokens.get(at) else {
        return Err(Fault::new(name.span(), "a tile export has a parameter list"));
    };
    let parameters = pieces(list.stream())
        .iter()
        .map(|piece| parameter(piece))
        .collect::<Result<_, _>>()?;
    Ok(Function {
        name: name.clone(),
        parameters,
        result: result(&tokens[at + 1..])?,
        conditions,
    })
}

/// Skips `<'a, 'b>`; types and constants there would need one implementation each.
fn after_lifetimes(tokens: &[TokenTree], start: usize) -> Result<usize, Fault> {
    if !tokens.get(start).is_some_and(|token| is_punct(token, '<')) {
        return Ok(start);
    }
    let mut at = start + 1;
    while let Some(token) = tokens.get(at) {
        if is_punct(token, '>') {
            return Ok(at + 1);
        }
        match (token, tokens.get(at + 1)) {
            (quote, Some(TokenTree::Ident(_))) if is_punct(quote, '\'') => at += 2,
            (comma, _) if is_punct(comma, ',') => at += 1,
            _ => return Err(Fault::new(token.span(), "a tile export has no generic parameters")),
        }
    }
    Ok(at)
}

fn pieces(list: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = list.into_iter().collect();
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    let mut depth = 0;
    for token in tokens {
        depth += i32::from(is_punct(&token, '<')) - i32::from(is_punct(&token, '>'));
        if is_punct(&token, ',') && depth <= 0 {
            pieces.push(std::mem::take(&mut piece));
        } else {
            piece.push(token);
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

fn parameter(piece: &[TokenTree]) -> Result<Parameter, Fault> {
    let span = piece.first().map_or_else(Span::call_site, TokenTree::span);
    let [TokenTree::Ident(name), colon, kind @ ..] = piece else {
        return Err(Fault::new(
            span,
            "a parameter of a tile export is a plain name with a type",
        ));
    };
    if !is_punct(colon, ':') || kind.is_empty() {
        return Err(Fault::new(
            span,
            "a parameter of a tile export is a plain name with a type",
        ));
    }
    if !is_punct(&kind[0], '&') {
        let element: TokenStream = kind.iter().cloned().collect();
        return Ok(Parameter {
            name: name.clone(),
            passing: Passing::Value,
            elements: element.clone(),
            element,
        });
    }
    let mut rest = &kind[1..];
    if let [quote, TokenTree::Ident(_), after @ ..] = rest {
        if is_punct(quote, '\'') {
            rest = after;
        }
    }
    let mut passing = Passing::Shared;
    if let [mutable, after @ ..] = rest {
        if is_word(mutable, "mut") {
            (passing, rest) = (Passing::Mutable, after);
        }
    }
    let elements: TokenStream = rest.iter().cloned().collect();
    let element = match rest {
        [TokenTree::Group(array)] if array.delimiter() == Delimiter::Bracket => {
            let inner: Vec<TokenTree> = array.stream().into_iter().collect();
            let Some(end) = inner.iter().position(|token| is_punct(token, ';')) else {
                return Err(Fault::new(array.span(), "a slice has no known length: write `[T; F]`"));
            };
            inner[..end].iter().cloned().collect()
        }
        _ => elements.clone(),
    };
    Ok(Parameter {
        name: name.clone(),
        passing,
        element,
        elements,
    })
}

fn result(after: &[TokenTree]) -> Result<Option<TokenStream>, Fault> {
    let [dash, angle, kind @ ..] = after else {
        return Ok(None);
    };
    if !is_punct(dash, '-') || !is_punct(angle, '>') {
        return match dash {
            word if is_word(word, "where") => Err(Fault::new(word.span(), "a tile export has no `where` clause")),
            _ => Ok(None),
        };
    }
    let end = kind.iter().position(|token| {
        is_word(token, "where") || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    });
    let kind = &kind[..end.unwrap_or(kind.len())];
    let unit = matches!(kind, [TokenTree::Group(group)]
        if group.delimiter() == Delimiter::Parenthesis && group.stream().is_empty());
    Ok(if unit {
        None
    } else {
        Some(kind.iter().cloned().collect())
    })
}
