//! The settings of the [`unclean`](super) generator.

use tidewatch_core::Span;

use crate::generate::echo::EchoConfig;
use crate::generate::shared::{BadSetting, Checker};

/// Settings of the unclean web. Shares of hosts are drawn for every host and every kind by itself.
/// Where no source is named the figure is assumed: no published data say how often it occurs.
#[derive(Clone, Debug, PartialEq)]
pub struct UncleanConfig {
    /// Scales the number of hosts, and with it everything else.
    pub scale: f64,
    /// The web underneath: news sites, their sources and articles.
    pub echo: EchoConfig,
    /// Pages of lasting interest a host, which only articles and each other link to.
    pub guides: usize,
    /// Their clicks, as a share of the clicks on articles.
    pub guide_clicks: f64,

    /// Hosts whose pages get another title in their address now and then.
    pub renaming: f64,
    /// Smallest and largest share of pages renamed on such a host (`[DEN22]`: 28% and 39% of the
    /// addresses of two hosts of twelve).
    pub renamed: (f64, f64),
    /// Mean hours from birth to a new title.
    pub rename_hours: f64,
    /// Other hosts, where the number at the end of an address is a small one that many pages share:
    /// who takes it for an id loses pages.
    pub numbered: f64,
    /// Other hosts, where a parameter names the article.
    pub queried: f64,

    /// Hosts with a second kind of address for some of their links.
    pub aliasing: f64,
    /// Sources of such a host that link by it.
    pub tagging: f64,
    /// Hosts that put a session's number into every link.
    pub sessions: f64,
    /// How long a source shows the same number.
    pub session_period: Span,
    /// Hosts that are copied to another one.
    pub mirrors: f64,
    /// Mirrors in the same organisation; the others have another frame around the content.
    pub own_mirrors: f64,
    /// Hosts that declare the canonical address of their pages.
    pub declaring: f64,

    /// Hosts with a list that can be filtered and sorted.
    pub facets: f64,
    /// Hosts with a calendar.
    pub calendars: f64,
    /// Days of a calendar after the start; a third as many lie before.
    pub calendar_days: u32,
    /// Hosts with a maze.
    pub mazes: f64,
    /// Pages of a maze.
    pub maze_pages: u32,
    /// Hosts with dead links to folders that answer with an error page and status 200.
    pub missing: f64,
    /// Dead links of such a host, as a share of its pages.
    pub missing_pages: f64,

    /// Parked hosts, as a share of the hosts.
    pub parked: f64,
    /// Hosts of link farms, as a share of the hosts.
    pub farms: f64,
    /// Pages of a host in a farm.
    pub farm_pages: u32,
}

impl Default for UncleanConfig {
    /// About ninety hosts. Calendars, facets, sessions and mazes are on three hosts in ten.
    fn default() -> Self {
        let echo = EchoConfig {
            scale: 0.1,
            news_sites: 600,
            blogs: 300,
            sources: 6_000,
            ..EchoConfig::default()
        };
        UncleanConfig {
            scale: 1.0,
            echo,
            guides: 60,
            guide_clicks: 0.5,
            renaming: 0.35,
            renamed: (0.2, 0.5),
            rename_hours: 6.0,
            numbered: 0.2,
            queried: 0.2,
            aliasing: 0.25,
            tagging: 0.3,
            sessions: 0.06,
            session_period: Span::HOUR.times(12),
            mirrors: 0.08,
            own_mirrors: 0.5,
            declaring: 0.4,
            facets: 0.1,
            calendars: 0.1,
            calendar_days: 900,
            mazes: 0.08,
            maze_pages: 1_500,
            missing: 0.15,
            missing_pages: 0.2,
            parked: 0.2,
            farms: 0.1,
            farm_pages: 80,
        }
    }
}

impl UncleanConfig {
    /// The same hosts, sources, articles and guides, with nothing wrong about them.
    pub fn clean() -> Self {
        UncleanConfig {
            renaming: 0.0,
            aliasing: 0.0,
            sessions: 0.0,
            mirrors: 0.0,
            facets: 0.0,
            calendars: 0.0,
            mazes: 0.0,
            missing: 0.0,
            parked: 0.0,
            farms: 0.0,
            ..UncleanConfig::default()
        }
    }

    /// The settings of the web underneath.
    pub(super) fn base(&self) -> EchoConfig {
        EchoConfig { scale: self.echo.scale * self.scale, ..self.echo.clone() }
    }

    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let checker = Checker("unclean");
        checker.positive("scale", self.scale)?;
        checker.span("session_period", self.session_period)?;
        for (setting, value) in
            [("guide_clicks", self.guide_clicks), ("rename_hours", self.rename_hours)]
        {
            checker.not_negative(setting, value)?;
        }
        for (setting, count) in [
            ("guides", self.guides as f64),
            ("calendar_days", f64::from(self.calendar_days)),
            ("maze_pages", f64::from(self.maze_pages)),
            ("farm_pages", f64::from(self.farm_pages)),
        ] {
            checker.count(setting, count)?;
        }
        for (setting, share) in [
            ("renaming", self.renaming),
            ("renamed.0", self.renamed.0),
            ("renamed.1", self.renamed.1),
            ("renaming + numbered + queried", self.renaming + self.numbered + self.queried),
            ("numbered", self.numbered),
            ("queried", self.queried),
            ("aliasing", self.aliasing),
            ("tagging", self.tagging),
            ("sessions", self.sessions),
            ("mirrors", self.mirrors),
            ("own_mirrors", self.own_mirrors),
            ("declaring", self.declaring),
            ("facets", self.facets),
            ("calendars", self.calendars),
            ("mazes", self.mazes),
            ("missing", self.missing),
            ("missing_pages", self.missing_pages),
            ("parked", self.parked),
            ("farms", self.farms),
        ] {
            checker.share(setting, share)?;
        }
        self.base().check()
    }
}
