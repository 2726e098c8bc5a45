//! A page's links and metadata, with every URL resolved.

use serde::{Serialize, Serializer};
use tidewatch_core::url::{Base, CanonicalUrl};

use super::{Links, reference::collapse, reference::in_encoding};
use crate::forms::Form;
use crate::html::{Name, names};
use tidewatch_robots::Directives;

/// A page's links and metadata.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// Its title, white space collapsed.
    pub title: Option<String>,
    /// The language it declares, as written ("en-GB").
    pub language: Option<String>,
    /// Its canonical URL, as it declares.
    #[serde(serialize_with = "maybe_url")]
    pub canonical: Option<CanonicalUrl>,
    /// Its translations and feeds.
    pub alternates: Vec<Alternate<CanonicalUrl>>,
    /// Its meta refresh.
    pub refresh: Option<Refresh<CanonicalUrl>>,
    /// Its robots directives.
    pub robots: Directives,
    /// Its links, in page order.
    pub links: Vec<Link>,
    /// Number of references to no page: mail, scripts, malformed URLs.
    pub refused: u32,
    /// Whether links were dropped at the limit.
    pub is_cut: bool,
    /// Its forms.
    pub forms: Vec<Form>,
}

/// A link to another page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Its target.
    #[serde(serialize_with = "url")]
    pub url: CanonicalUrl,
    /// The anchor text, white space collapsed.
    pub anchor: String,
    /// Its place among the references of the page, from 0.
    pub position: u32,
    /// The part of the page it is in.
    pub region: Region,
    /// The kind of reference.
    pub kind: LinkKind,
    /// Its `rel` attribute.
    pub rel: Rel,
}

/// The same page in another language, or a feed of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alternate<U: AsRef<str>> {
    /// Its URL.
    #[serde(serialize_with = "url")]
    pub url: U,
    /// Its language ("de-CH", "x-default").
    pub language: Option<String>,
    /// Whether it is a feed.
    pub is_feed: bool,
}

/// A meta refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refresh<U: AsRef<str>> {
    /// Delay in seconds.
    pub after_s: u32,
    /// Whether it stands in a `noscript` element: readers with scripts do not follow it.
    pub is_fallback: bool,
    /// Its target.
    #[serde(serialize_with = "url")]
    pub url: U,
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// An anchor.
    Anchor,
    /// A frame.
    Frame,
    /// The next or previous page of a sequence.
    Sequence,
}

/// The part of a page that a link is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// Navigation.
    Nav,
    /// A header.
    Header,
    /// A footer.
    Footer,
    /// An aside.
    Aside,
    /// The main part, or an article.
    Main,
    /// Elsewhere.
    Other,
}

impl Region {
    pub(super) fn of(name: Name) -> Self {
        match name {
            names::NAV => Self::Nav,
            names::HEADER => Self::Header,
            names::FOOTER => Self::Footer,
            names::ASIDE => Self::Aside,
            names::MAIN | names::ARTICLE => Self::Main,
            _ => Self::Other,
        }
    }
}

/// The `rel` attribute of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools)] // Each is one word of the attribute.
pub struct Rel {
    /// Not to be followed, or not endorsed.
    pub nofollow: bool,
    /// Written by visitors.
    pub ugc: bool,
    /// Paid for.
    pub sponsored: bool,
}

impl Rel {
    pub(super) fn of(rel: &str) -> Self {
        let has = |word: &str| super::words(rel).any(|rel| rel.eq_ignore_ascii_case(word));
        Self { nofollow: has("nofollow"), ugc: has("ugc"), sponsored: has("sponsored") }
    }
}

fn url<S: Serializer>(url: &impl AsRef<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(url.as_ref())
}

#[allow(clippy::ref_option)] // The signature is serde's.
fn maybe_url<S: Serializer>(url: &Option<CanonicalUrl>, to: S) -> Result<S::Ok, S::Error> {
    match url {
        Some(url) => to.serialize_some(url.as_str()),
        None => to.serialize_none(),
    }
}

/// Resolves the gathered references against the page's URL, or its `<base>` if usable.
pub(super) fn resolve(all: Links, address: &Base) -> Page {
    let rebased = all.base.as_deref().and_then(|href| address.rebase(href).ok());
    let base = rebased.as_ref().unwrap_or(address);
    let join = |reference: &str| match all.encoding {
        Some(encoding) => base.join(&in_encoding(reference, encoding)).ok(),
        None => base.join(reference).ok(),
    };
    let mut refused = 0;
    let mut links = Vec::with_capacity(all.found.len());
    for (position, raw) in (0..).zip(all.found) {
        match join(&all.hrefs[raw.href]) {
            Some(url) => links.push(Link {
                url,
                anchor: raw.anchor,
                position,
                region: raw.region,
                kind: raw.kind,
                rel: raw.rel,
            }),
            None => refused += 1,
        }
    }
    let alternate = |alternate: Alternate<String>| {
        let url = join(&alternate.url)?;
        Some(Alternate { url, language: alternate.language, is_feed: alternate.is_feed })
    };
    let forms = all.forms.finish(all.encoding.unwrap_or(encoding_rs::UTF_8), join);
    Page {
        title: all.title.map(|title| collapse(&title)).filter(|title| !title.is_empty()),
        language: all.language.filter(|language| !language.is_empty()),
        canonical: all.canonical.and_then(|href| join(href.trim())),
        alternates: all.alternates.into_iter().filter_map(alternate).collect(),
        refresh: all.refresh.and_then(|refresh| {
            let Refresh { after_s, is_fallback, .. } = refresh;
            Some(Refresh { url: join(&refresh.url)?, after_s, is_fallback })
        }),
        robots: all.directives,
        links,
        refused,
        is_cut: all.is_cut,
        forms,
    }
}
