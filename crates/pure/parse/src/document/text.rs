//! Plain text.

use super::{Parsed, Parser, Source, Wanted};
use crate::charset::decode;

pub(super) const PARSER: Parser = Parser {
    name: "text",
    claims: |media_type| media_type == "text/plain",
    looks_like: |_| false,
    parse: |source, wanted| Ok(parse(source, wanted)),
};

fn parse(source: &Source<'_>, wanted: &Wanted<'_>) -> Parsed {
    let decoded = decode(source.bytes, source.label());
    let end = decoded.text.floor_char_boundary(wanted.text_bytes);
    let text = (wanted.text_bytes > 0).then(|| decoded.text[..end].to_owned());
    let (encoding, robots) = (Some(decoded.encoding.name()), source.robots(wanted.agent));
    Parsed { encoding, robots, text, ..Parsed::default() }
}
