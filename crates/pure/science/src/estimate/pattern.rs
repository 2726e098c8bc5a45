//! Which pages of a host are of one kind?

/// The shape of a URL's path: each run of digits becomes `#`, the query keeps only its keys, and
/// what follows the last slash is `*` unless it holds digits or ends in a known kind of file.
/// Pages of one pattern tend to come from one template and to change alike.
pub fn url_pattern(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    let path = path.split('#').next().unwrap_or("");
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut pattern = String::from("/");
    digits_to_mark(directory, &mut pattern);
    if !directory.is_empty() {
        pattern.push('/');
    }
    if name.bytes().any(|b| b.is_ascii_digit()) {
        digits_to_mark(name, &mut pattern);
    } else if !name.is_empty() {
        pattern.push('*');
        if let Some((_, ending)) = name.rsplit_once('.').filter(|(_, ending)| ending.len() <= 5) {
            pattern.push('.');
            pattern.push_str(ending);
        }
    }
    for (i, part) in query.split('&').filter(|part| !part.is_empty()).enumerate() {
        pattern.push(if i == 0 { '?' } else { '&' });
        pattern.push_str(part.split('=').next().unwrap_or(""));
    }
    pattern
}

fn digits_to_mark(text: &str, out: &mut String) {
    let mut in_digits = false;
    for c in text.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_digits {
            out.push('#');
        }
        in_digits = c.is_ascii_digit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_template_share_a_pattern() {
        let cases = [
            ("https://a.example/news/2026/11/15/a-slug", "/news/#/#/#/*"),
            ("https://a.example/news/2025/1/2/other", "/news/#/#/#/*"),
            ("https://a.example/", "/"),
            ("https://a.example", "/"),
            ("https://a.example/item?id=17&lang=en#top", "/*?id&lang"),
            ("https://a.example/p/article-1234.html", "/p/article-#.html"),
            ("https://a.example/p/about.html", "/p/*.html"),
            ("no scheme at all", "/"),
            ("", "/"),
        ];
        for (url, pattern) in cases {
            assert_eq!(url_pattern(url), pattern, "{url}");
        }
    }
}
