//! Scripts that send every reader on at once, found without running them.
//!
//! A script counts if one of its statements, outside all braces and parentheses, is one of
//!
//! ```text
//! location = "…"          location.href = "…"
//! location.replace("…")   location.assign("…")
//! ```
//!
//! with `window.`, `document.`, `self.`, `top.`, `parent.` or `globalThis.` before it or not, and a string
//! without operators. Such a statement is run whenever the script is. One that stands after a condition, in a
//! function, or whose address is computed is not looked at: of those nobody knows without running them, and
//! a script engine fed by strangers is no part of a crawler. Where the scan loses its way (a string that
//! does not end, more brackets closed than opened) it gives up.
//!
//! Linear in the bytes, at most [`MOST`] of a script.

use crate::html::{Name, Tag, Visitor, names};

/// Most bytes of a script that are read: one that sends readers on does so soon.
const MOST: usize = 1 << 15;
/// Longest address.
const MOST_URL: usize = 2_048;
/// Words after which a new line goes on with the same statement.
const GOES_ON: [&str; 14] = [
    "else",
    "do",
    "return",
    "typeof",
    "in",
    "of",
    "case",
    "new",
    "void",
    "delete",
    "await",
    "yield",
    "instanceof",
    "throw",
];
/// Names of the window or its document.
const WINDOWS: [&str; 6] = ["window", "document", "self", "top", "parent", "globalThis"];

/// Finds the first script of a page that sends readers on.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    /// Whether the script that is open is run.
    is_run: bool,
    /// Depth of `noscript` and `template`, in which nothing is run.
    asleep: usize,
    to: Option<String>,
}

impl Scripts {
    /// The address, as written.
    pub(crate) fn finish(self) -> Option<String> {
        self.to
    }

    fn look(&mut self, script: &str) {
        if self.to.is_none() && self.asleep == 0 {
            self.to = target(script);
        }
    }
}

impl Visitor for Scripts {
    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name {
            names::SCRIPT => {
                let kind = tag.value("type").unwrap_or_default();
                let kind = kind.trim().to_ascii_lowercase();
                let is_script = kind.is_empty() || kind == "module" || kind.ends_with("javascript");
                self.is_run = is_script && tag.attribute("src").is_none();
            }
            names::NOSCRIPT | names::TEMPLATE if !tag.is_leaf => self.asleep += 1,
            names::BODY => {
                let onload = tag.value("onload");
                onload.iter().for_each(|script| self.look(script));
            }
            _ => {}
        }
    }

    fn raw(&mut self, of: Name, text: &str) {
        if of == names::SCRIPT && self.is_run {
            self.look(text);
        }
    }

    fn close(&mut self, name: Name) {
        if name == names::NOSCRIPT || name == names::TEMPLATE {
            self.asleep = self.asleep.saturating_sub(1);
        }
    }
}

/// Where a script sends every reader.
fn target(script: &str) -> Option<String> {
    let script = &script[..script.floor_char_boundary(MOST)];
    // Most scripts have no such word, and this is fast.
    memchr::memmem::find(script.as_bytes(), b"location")?;
    Scan { rest: script, depth: 0, is_start: true, last: "" }.run()
}

/// A walk over a script, token by token.
struct Scan<'s> {
    rest: &'s str,
    /// Braces, brackets and parentheses that are open.
    depth: usize,
    /// Whether a statement may begin here.
    is_start: bool,
    /// The token before; empty at the beginning.
    last: &'s str,
}

impl Scan<'_> {
    fn run(mut self) -> Option<String> {
        loop {
            self.skip_space()?;
            let first = self.rest.chars().next()?;
            if self.depth == 0
                && self.is_start
                && first.is_ascii_alphabetic()
                && let Some(to) = sent_to(self.rest)
            {
                return Some(to);
            }
            match first {
                '"' | '\'' => self.string(first)?,
                '`' => self.template()?,
                '/' if self.may_be_pattern() => self.pattern()?,
                '(' | '[' | '{' => {
                    self.depth += 1;
                    self.take(1);
                }
                ')' | ']' | '}' => {
                    self.depth = self.depth.checked_sub(1)?;
                    self.take(1);
                }
                _ if is_word(first) => {
                    let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                    self.take(end);
                }
                _ => self.take(first.len_utf8()),
            }
            self.is_start = matches!(self.last, ";" | "}");
        }
    }

    /// Takes a token of so many bytes.
    fn take(&mut self, bytes: usize) {
        (self.last, self.rest) = self.rest.split_at(bytes);
    }

    /// Passes white space and comments. After a new line a statement may begin, if the one before may end:
    /// with a word that asks for no more, or with a string.
    fn skip_space(&mut self) -> Option<()> {
        loop {
            let trimmed = self.rest.trim_start();
            let space = &self.rest[..self.rest.len() - trimmed.len()];
            let may_end = self.last.ends_with(|c| is_word(c) || c == '"' || c == '\'');
            if space.contains('\n') && may_end && !GOES_ON.contains(&self.last) {
                self.is_start = true;
            }
            self.rest = trimmed;
            if self.rest.starts_with("//")
                || self.rest.starts_with("<!--")
                || self.rest.starts_with("-->")
            {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = &comment[comment.find("*/")? + 2..];
            } else {
                return Some(());
            }
        }
    }

    /// Passes a string; `None` if it does not end on its line.
    fn string(&mut self, quote: char) -> Option<()> {
        let inside = string(self.rest, quote)?;
        self.take(inside.len() + 2);
        Some(())
    }

    fn template(&mut self) -> Option<()> {
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next()?;
                }
                '`' => {
                    self.take(at + 1);
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// Whether a slash begins a pattern: after a value it divides.
    fn may_be_pattern(&self) -> bool {
        let is_value = self.last.ends_with(|c: char| is_word(c) || ")]}\"'`".contains(c));
        !is_value || GOES_ON.contains(&self.last)
    }

    fn pattern(&mut self) -> Option<()> {
        let (mut chars, mut in_class) = (self.rest.char_indices().skip(1), false);
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => return None,
                '\\' => {
                    chars.next()?;
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => {
                    self.take(at + 1);
                    // A pattern is a value.
                    self.last = "\"";
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The inside of the string that a text begins with, as written.
fn string(text: &str, quote: char) -> Option<&str> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return None,
            '\\' => {
                chars.next()?;
            }
            _ if c == quote => return Some(&text[1..at]),
            _ => {}
        }
    }
    None
}

/// The address, if a text begins with a statement that sends the reader on.
fn sent_to(text: &str) -> Option<String> {
    let (mut rest, mut is_location) = (text, false);
    let how = loop {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let after = after.trim_start();
        match word {
            "location" if !is_location => is_location = true,
            "href" | "replace" | "assign" if is_location => break (word, after),
            _ if !is_location && WINDOWS.contains(&word) => {}
            _ => return None,
        }
        match after.strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if is_location => break (word, after),
            None => return None,
        }
    };
    let (open, close) = if matches!(how.0, "replace" | "assign") { ('(', ')') } else { ('=', ';') };
    let value = how.1.strip_prefix(open)?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = string(value, quote)?;
    let after = &value[inside.len() + 2..];
    let is_end = |rest: &str| {
        rest.trim_start_matches([' ', '\t', '\r']).is_empty()
            || rest.trim_start_matches([' ', '\t', '\r']).starts_with(['\n', ';', '}'])
    };
    let is_whole = match close {
        ')' => after.trim_start().strip_prefix(')').is_some_and(is_end),
        _ => is_end(after),
    };
    let address = is_whole.then(|| unescaped(inside)).filter(|url| !url.trim().is_empty());
    address.filter(|url| url.len() <= MOST_URL)
}

/// A string's value.
fn unescaped(inside: &str) -> String {
    let mut value = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        let digits = match chars.next() {
            Some('x') => 2,
            Some('u') => 4,
            Some(other) => {
                value.push(other);
                continue;
            }
            None => break,
        };
        let code: String = chars.by_ref().take(digits).collect();
        value.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::scan;

    fn of(script: &str) -> Option<String> {
        target(script)
    }

    #[test]
    fn statements_that_send_readers_on() {
        for script in [
            "location='/x'",
            "window.location = \"/x\";",
            "top.location.href='/x'\n",
            " document . location . href = '/x' ;",
            "window.top.location.replace( '/x' );",
            "location.assign(\"/x\")",
            "<!--\nvar a = 1\nlocation.href = '/x'\n//-->",
            "/* away */ var s = \"{\"; location='\\/x'",
            "function f() { return 1 }\nlocation = '\\u002fx';",
            "var r = /[/}\"]+/g; location='/x';",
            "var a = b / c / d; location='/x';",
            "`${x}`; location='/x'",
        ] {
            assert_eq!(of(script).as_deref(), Some("/x"), "{script}");
        }
    }

    /// What is run only perhaps, later, or with an address that only running tells.
    #[test]
    fn all_else_is_left() {
        for script in [
            "if (mobile) location='/x'",
            "if (mobile)\nlocation='/x'",
            "if (a) {} else\nlocation='/x'",
            "mobile && (location='/x')",
            "mobile && location.replace('/x')",
            "a ? b :\nlocation='/x'",
            "function go() { location='/x' }",
            "b.onclick = () => { location.href = '/x' }",
            "setTimeout(\"location='/x'\", 10)",
            "location = '/x?' + id",
            "location = base + '/x'",
            "location == '/x'",
            "location.hash = '/x'",
            "my.location = '/x'",
            "var location = '/x'",
            "location.reload()",
            "location.replace('/x' + y)",
            "location.href='/x' + y",
            "// location='/x'",
            "/* location='/x' */",
            "\"location='/x'\"",
            "var s = 'unended\n location='/x'",
            "} location='/x'",
            "location=''",
            "location",
            "x.replace(/}/, '\nlocation=\"/x\"')",
        ] {
            assert_eq!(of(script), None, "{script}");
        }
    }

    #[test]
    fn only_scripts_that_are_run_count() {
        let page = |html: &str| {
            let mut scripts = Scripts::default();
            scan(html, &mut scripts);
            scripts.finish()
        };
        let away = "location='/x'";
        for html in [
            format!("<script>{away}</script>"),
            format!("<script type=text/javascript>{away}</script>"),
            format!("<body onload=\"{away}\">"),
            format!("<noscript>a</noscript><script>1</script><script>{away}</script>"),
        ] {
            assert_eq!(page(&html).as_deref(), Some("/x"), "{html}");
        }
        for html in [
            format!("<script type=application/json>{away}</script>"),
            format!("<script src=a.js>{away}</script>"),
            format!("<template><script>{away}</script></template>"),
            format!("<style>{away}</style><p>{away}</p>"),
        ] {
            assert_eq!(page(&html), None, "{html}");
        }
    }

    #[test]
    fn long_scripts_are_cut() {
        assert_eq!(of(&format!("{};location='/x'", "a;".repeat(MOST))), None);
        assert_eq!(of(&format!("location='/{}'", "x".repeat(MOST_URL))), None);
        let deep = "(".repeat(MOST) + "location='/x'";
        assert_eq!(of(&deep), None);
    }
}
