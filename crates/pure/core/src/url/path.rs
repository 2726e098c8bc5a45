//! The normal form of a path.
//!
//! The WHATWG parser has removed dot segments already, encoded ones (`%2e`)
//! included. Left for us: one percent-encoding, no session path parameters
//! (`/a;jsessionid=…/b`), and runs of slashes, which sloppy relative links grow
//! without end and nearly every server reads as one. A doubled slash after a
//! colon is kept, for it is a URL inside the path (`/web/2020/https://a.example/`).
//!
//! Removing a parameter can leave a new dot segment (`/..;jsessionid=1/`) or an
//! empty one, so segments are judged as they are written out, in one pass.

use super::{percent, query};

/// Appends the normal form of `path`, which begins with a slash.
pub(super) fn push_normal(out: &mut String, path: &str) {
    if is_normal(path) {
        out.push_str(path);
    } else {
        push_segments(out, path);
    }
}

/// Whether a reference is a path from the root in its normal form, which no parser would change:
/// no query, no fragment, and no segment that begins with a dot.
pub(super) fn is_plain_reference(reference: &str) -> bool {
    let mut previous = b'/';
    let mut bytes = reference.bytes();
    bytes.next() == Some(b'/')
        && bytes.all(|byte| {
            let odd = matches!(byte, b';' | b'?')
                || (previous == b'/' && matches!(byte, b'/' | b'.'))
                || !percent::is_plain(byte);
            previous = byte;
            !odd
        })
}

/// A quick test that holds for most paths; the slow way gives the same result.
fn is_normal(path: &str) -> bool {
    let mut previous = 0;
    path.bytes().all(|byte| {
        let odd = byte == b';' || (byte == b'/' && previous == b'/') || !percent::is_plain(byte);
        previous = byte;
        !odd
    })
}

fn push_segments(out: &mut String, path: &str) {
    let start = out.len();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let mark = out.len();
        out.push('/');
        push_segment(out, segment);
        match &out[mark + 1..] {
            "" if is_last || out[start..mark].ends_with(':') => {}
            "" => out.truncate(mark),
            "." => leave_directory(out, mark, is_last),
            ".." => {
                let parent = out[start..mark].rfind('/').map_or(start, |at| start + at);
                leave_directory(out, parent, is_last);
            }
            _ => {}
        }
    }
    if out.len() == start {
        out.push('/');
    }
}

/// Cuts the path back to a directory, whose slash is written if nothing follows.
fn leave_directory(out: &mut String, end: usize, is_last: bool) {
    out.truncate(end);
    if is_last {
        out.push('/');
    }
}

/// Appends one segment without its session parameters.
fn push_segment(out: &mut String, segment: &str) {
    let mut parameters = segment.split(';');
    percent::push_normal(out, parameters.next().unwrap_or_default());
    for parameter in parameters {
        let mark = out.len();
        out.push(';');
        percent::push_normal(out, parameter);
        if query::is_session(&out[mark + 1..]) {
            out.truncate(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let cases = [
            ("/", "/"),
            ("//", "/"),
            ("/a//b///c", "/a/b/c"),
            ("/web/https://x.example//y", "/web/https://x.example/y"),
            ("/a:////b", "/a://b"),
            ("/a;jsessionid=0A1B/b;v=1;JSESSIONID=2", "/a/b;v=1"),
            ("/a/..;jsessionid=1/b", "/b"),
            ("/..;jsessionid=1", "/"),
            ("/a/.;jsessionid=1", "/a/"),
            ("/a/;jsessionid=1/b", "/a/b"),
            ("/a;j%73essionid=1", "/a"),
            ("/9%2f11;p", "/9%2F11;p"),
        ];
        for (input, want) in cases {
            for path in [input, want] {
                let (mut quick, mut slow) = (String::from("prefix"), String::from("prefix"));
                push_normal(&mut quick, path);
                push_segments(&mut slow, path);
                assert_eq!(quick, format!("prefix{want}"), "{path}");
                assert_eq!(slow, quick, "{path} the slow way");
            }
        }
    }
}
