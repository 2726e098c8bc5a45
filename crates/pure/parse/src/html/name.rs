//! Element names as one integer, for fast comparison.

/// The name of an element, case-insensitive.
///
/// Names of at most ten letters and digits, as all of HTML's are, are packed with six bits per
/// character, 60 in all. Others are hashed to 60 bits, with the top bit set so that they never equal
/// a packed one. The stack of open elements marks foreign elements in the three bits between, so
/// that an SVG `title` is no HTML `title` to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(u64);

const PACKED_LEN: usize = 10;
const HASHED: u64 = 1 << 63;
const SVG: u64 = 1 << 60;
const MATH: u64 = 1 << 61;
/// A foreign element is an HTML integration point, whose inside is HTML; an HTML element has had its
/// end tag but holds a block that is open.
const POINT: u64 = 1 << 62;
const FOREIGN: u64 = SVG | MATH;
const MARKS: u64 = FOREIGN | POINT;

impl Name {
    /// Packs or hashes `name`.
    pub const fn of(name: &str) -> Name {
        Self::of_bytes(name.as_bytes())
    }

    #[inline]
    pub(super) const fn of_bytes(name: &[u8]) -> Name {
        let mut packed = 0;
        let mut i = 0;
        while i < name.len() && i < PACKED_LEN {
            let code = code(name[i]);
            if code == 0 {
                break;
            }
            packed = packed << 6 | code as u64;
            i += 1;
        }
        if i == name.len() { Name(packed) } else { Name(hashed(name)) }
    }

    /// The same name as an SVG element.
    pub(super) const fn in_svg(self) -> Name {
        Name(self.0 | SVG)
    }

    /// The same name as a MathML element.
    pub(super) const fn in_math(self) -> Name {
        Name(self.0 | MATH)
    }

    /// The same foreign element as an HTML integration point, or HTML element as one that has had
    /// its end tag.
    pub(super) const fn marked(self) -> Name {
        Name(self.0 | POINT)
    }

    /// The name without marks, as visitors see it.
    pub(super) const fn unmarked(self) -> Name {
        Name(self.0 & !MARKS)
    }

    /// Whether it is an SVG or MathML element.
    #[inline]
    pub(super) const fn is_foreign(self) -> bool {
        self.0 & FOREIGN != 0
    }

    pub(super) const fn is_svg(self) -> bool {
        self.0 & SVG != 0
    }

    pub(super) const fn is_point(self) -> bool {
        self.is_foreign() && self.0 & POINT != 0
    }

    /// Whether it is an HTML element that has had its end tag.
    pub(super) const fn has_ended(self) -> bool {
        self.0 & MARKS == POINT
    }

    /// The name's bucket for counting, a small number.
    pub(super) const fn bucket(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
    }
}

/// 1–36 for a letter or digit, 0 for a byte that cannot be packed.
const fn code(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => byte - b'a' + 1,
        b'A'..=b'Z' => byte - b'A' + 1,
        b'0'..=b'9' => byte - b'0' + 27,
        _ => 0,
    }
}

/// FNV-1a; at worst, a collision closes the wrong unknown element.
const fn hashed(name: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < name.len() {
        hash = (hash ^ name[i].to_ascii_lowercase() as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash & !MARKS | HASHED
}

/// Names that HTML gives a meaning.
#[allow(missing_docs, reason = "each is the element of that name")]
pub mod names {
    use super::Name;

    macro_rules! names {
        ($($constant:ident = $name:literal),* $(,)?) => {
            $(pub const $constant: Name = Name::of($name);)*
        };
    }

    names! {
        A = "a", ADDRESS = "address", ANNOTATION_XML = "annotation-xml", APPLET = "applet", AREA =
        "area", ARTICLE = "article", ASIDE = "aside", AUDIO = "audio", B = "b", BASE = "base",
        BASEFONT = "basefont", BGSOUND = "bgsound", BIG = "big", BLOCKQUOTE = "blockquote", BODY =
        "body", BR = "br", BUTTON = "button", CANVAS = "canvas", CAPTION = "caption", CENTER =
        "center", CODE = "code", COL = "col", COLGROUP = "colgroup", DATALIST = "datalist", DD =
        "dd", DESC = "desc", DETAILS = "details", DIALOG = "dialog", DIR = "dir", DIV = "div", DL
        = "dl", DT = "dt", EM = "em", EMBED = "embed", FIELDSET = "fieldset", FIGCAPTION =
        "figcaption", FIGURE = "figure", FONT = "font", FOOTER = "footer", FOREIGNOBJECT =
        "foreignobject", FORM = "form", FRAME = "frame", FRAMESET = "frameset", H1 = "h1", H2 =
        "h2", H3 = "h3", H4 = "h4", H5 = "h5", H6 = "h6", HEAD = "head", HEADER = "header", HGROUP
        = "hgroup", HR = "hr", HTML = "html", I = "i", IFRAME = "iframe", IMAGE = "image", IMG =
        "img", INPUT = "input", KEYGEN = "keygen", LABEL = "label", LI = "li", LINK = "link", LISTING = "listing",
        MAIN = "main", MALIGNMARK = "malignmark", MARQUEE = "marquee", MATH = "math", MENU =
        "menu", META = "meta", MGLYPH = "mglyph", MI = "mi", MN = "mn", MO = "mo", MS = "ms",
        MTEXT = "mtext", NAV = "nav", NOBR = "nobr", NOEMBED = "noembed", NOFRAMES = "noframes",
        NOSCRIPT = "noscript", OBJECT = "object", OL = "ol", OPTGROUP = "optgroup", OPTION =
        "option", P = "p", PARAM = "param", PLAINTEXT = "plaintext", PRE = "pre", RUBY = "ruby", S
        = "s", SCRIPT = "script", SEARCH = "search", SECTION = "section", SELECT = "select", SMALL
        = "small", SOURCE = "source", SPAN = "span", STRIKE = "strike", STRONG = "strong", STYLE =
        "style", SUB = "sub", SUMMARY = "summary", SUP = "sup", SVG = "svg", TABLE = "table",
        TBODY = "tbody", TD = "td", TEMPLATE = "template", TEXTAREA = "textarea", TFOOT = "tfoot",
        TH = "th", THEAD = "thead", TIME = "time", TITLE = "title", TR = "tr", TRACK = "track", TT
        = "tt", U = "u", UL = "ul", VAR = "var", VIDEO = "video", WBR = "wbr", XMP = "xmp",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter_and_spelling_does() {
        assert_eq!(Name::of("BlockQuote"), names::BLOCKQUOTE);
        assert_eq!(Name::of("my-WIDGET"), Name::of("MY-widget"));
        assert_ne!(Name::of("h1"), Name::of("h2"));
        assert_ne!(Name::of("a"), Name::of("aa"));
        assert_ne!(Name::of("my-widget"), Name::of("my-gadget"));
        assert_ne!(Name::of("blockquotes"), Name::of("blockquote"));
    }
}
