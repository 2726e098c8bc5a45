//! What is wrong with a host.

use tidewatch_math::rng::Draws;

use super::UncleanConfig;

/// How a host names its articles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// By title and id.
    Plain,
    /// The same, and the title may change.
    Renames,
    /// By title and a small number that many pages share.
    Numbered,
    /// By a parameter.
    Queried,
}

/// A second address of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aliasing {
    /// A parameter that tells where the link stood.
    Parameter,
    /// A capital letter.
    Case,
    /// A slash at the end.
    Slash,
    /// A folder for printing.
    Print,
}

impl Aliasing {
    const ALL: [Aliasing; 4] =
        [Aliasing::Parameter, Aliasing::Case, Aliasing::Slash, Aliasing::Print];
}

/// Names of parameters that hold a session, none of them on the crawler's own list.
const SESSION_NAMES: [&str; 4] = ["visit", "tk", "cs", "s"];

/// Everything that is wrong with one host.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
pub(super) struct Roles {
    pub(super) naming: Naming,
    pub(super) alias: Option<Aliasing>,
    /// The name of the parameter.
    pub(super) session: Option<&'static str>,
    /// Whether pages show the session's number to readers.
    pub(super) shows_session: bool,
    pub(super) is_mirrored: bool,
    pub(super) declares: bool,
    pub(super) has_facets: bool,
    pub(super) has_calendar: bool,
    pub(super) has_maze: bool,
    pub(super) has_missing: bool,
}

pub(super) fn roles(config: &UncleanConfig, seed: u64, host: u32) -> Roles {
    let mut draws = Draws::of(seed, "unclean.roles", u64::from(host));
    let pick = draws.uniform();
    let limits = [config.renaming, config.numbered, config.queried];
    let naming = match limits {
        [renaming, ..] if pick < renaming => Naming::Renames,
        [renaming, numbered, _] if pick < renaming + numbered => Naming::Numbered,
        [renaming, numbered, queried] if pick < renaming + numbered + queried => Naming::Queried,
        _ => Naming::Plain,
    };
    let kind = Aliasing::ALL[draws.below(Aliasing::ALL.len() as u64) as usize];
    let name = SESSION_NAMES[draws.below(SESSION_NAMES.len() as u64) as usize];
    Roles {
        naming,
        alias: draws.chance(config.aliasing).then_some(kind),
        session: draws.chance(config.sessions).then_some(name),
        shows_session: draws.chance(0.5),
        is_mirrored: draws.chance(config.mirrors),
        declares: draws.chance(config.declaring),
        has_facets: draws.chance(config.facets),
        has_calendar: draws.chance(config.calendars),
        has_maze: draws.chance(config.mazes),
        has_missing: draws.chance(config.missing),
    }
}
