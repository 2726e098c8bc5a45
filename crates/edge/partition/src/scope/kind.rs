//! File types, by extension before a fetch and by media type after it.

use std::fmt;
use std::str::FromStr;

use tidewatch_core::url::CanonicalUrl;

/// A family of file types that an operator can ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileType(&'static Row);

/// A name, its extensions, and what its media types begin with.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    extensions: &'static [&'static str],
    media: &'static [&'static str],
}

const fn row(
    name: &'static str,
    extensions: &'static [&'static str],
    media: &'static [&'static str],
) -> Row {
    Row { name, extensions, media }
}

/// Every file type.
const ROWS: &[Row] = &[
    row(
        "html",
        &["html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi"],
        &["text/html", "application/xhtml+xml"],
    ),
    row("pdf", &["pdf"], &["application/pdf"]),
    row("text", &["txt", "md", "rst", "csv"], &["text/plain", "text/markdown", "text/csv"]),
    row(
        "xml",
        &["xml", "rss", "atom", "rdf"],
        &["text/xml", "application/xml", "application/rss+xml", "application/atom+xml"],
    ),
    row("json", &["json", "jsonl"], &["application/json", "application/ld+json"]),
    row(
        "office",
        &["doc", "docx", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "rtf", "epub"],
        &[
            "application/msword",
            "application/rtf",
            "application/epub+zip",
            "application/vnd.ms-",
            "application/vnd.openxmlformats-officedocument",
            "application/vnd.oasis.opendocument",
        ],
    ),
    row("image", &["png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "ico", "bmp"], &["image/"]),
    row("audio", &["mp3", "ogg", "oga", "wav", "flac", "m4a", "opus"], &["audio/"]),
    row("video", &["mp4", "webm", "ogv", "mov", "avi", "mkv", "m4v"], &["video/"]),
    row("style", &["css"], &["text/css"]),
    row("script", &["js", "mjs"], &["text/javascript", "application/javascript"]),
    row("font", &["woff", "woff2", "ttf", "otf", "eot"], &["font/", "application/font-"]),
    row(
        "archive",
        &["zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "tar", "jar", "iso", "deb", "rpm"],
        &[
            "application/zip",
            "application/gzip",
            "application/vnd.rar",
            "application/x-tar",
            "application/x-gzip",
            "application/x-bzip2",
            "application/x-xz",
            "application/x-7z",
        ],
    ),
];

impl FileType {
    /// The type that a URL's extension names; `None` if it has none, or an unknown one.
    pub(super) fn of_url(url: &CanonicalUrl) -> Option<FileType> {
        let name = url.path().rsplit('/').next()?;
        let extension = name.rsplit_once('.')?.1;
        let is_of = |row: &&Row| row.extensions.iter().any(|e| e.eq_ignore_ascii_case(extension));
        ROWS.iter().find(is_of).map(FileType)
    }

    /// Whether a media type, in lower case and without parameters, is of this type.
    pub(super) fn has_media(self, media: &str) -> bool {
        self.0.media.iter().any(|begin| media.starts_with(begin))
    }
}

/// A word that names no file type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no file type `{0}`; name html, pdf, text, xml, json, office, image, audio, video, style, \
     script, font or archive"
)]
pub struct BadFileType(String);

impl FromStr for FileType {
    type Err = BadFileType;

    fn from_str(text: &str) -> Result<Self, BadFileType> {
        let found = ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(text.trim()));
        found.map(FileType).ok_or_else(|| BadFileType(text.to_owned()))
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Debug for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_every_type() {
        let said = "zip".parse::<FileType>().unwrap_err().to_string();
        for row in ROWS {
            assert!(said.contains(row.name), "{}", row.name);
            assert_eq!(row.name.parse::<FileType>().unwrap().to_string(), row.name);
        }
    }

    #[test]
    fn types_are_recognised_by_extension_and_media_type() {
        let of = |url: &str| {
            FileType::of_url(&CanonicalUrl::parse(url).unwrap()).map(|found| found.to_string())
        };
        assert_eq!(of("https://a.example/x.PDF?page=1").as_deref(), Some("pdf"));
        assert_eq!(of("https://a.example/v1.2/guide"), None);
        assert_eq!(of("https://a.example/guide.unheard"), None);
        let image: FileType = "image".parse().unwrap();
        assert!(image.has_media("image/webp") && !image.has_media("text/html"));
        let office: FileType = "office".parse().unwrap();
        assert!(office.has_media("application/vnd.oasis.opendocument.text"));
    }
}
