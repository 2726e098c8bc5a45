//! The settings of the [`echo`](super) generator and their published values.

use tidewatch_core::{Rate, Span};

use crate::generate::shared::{BadSetting, Checker};

/// Settings of the echo web. The default is the data set of \[LOSS13\]; fields that the paper leaves
/// open name the source of their default.
#[derive(Clone, Debug, PartialEq)]
pub struct EchoConfig {
    /// Scales hosts, sources, pages, links and clicks alike; 1 is the published size.
    pub scale: f64,
    /// News sites (\[LOSS13\] §5.1: the 100 most visited).
    pub news_sites: usize,
    /// Blogs (\[LOSS13\] §5.1: the 50 most visited).
    pub blogs: usize,
    /// Content sources of all hosts together (\[LOSS13\] §5.1: about 3K).
    pub sources: usize,
    /// Pages that appear within `duration` (\[LOSS13\] §5.1: about 415K).
    pub pages: usize,
    /// Links from sources to those pages (\[LOSS13\] §5.1: about 2.4M).
    pub links: usize,
    /// Share of the new pages that are clicked at least once (\[LOSS13\] §5.1: about 20%).
    pub clicked_share: f64,
    /// Clicks per second on pages born within the last `measured`: the profit of fetching
    /// everything at once (\[LOSS13\] table 1: 0.72).
    pub profit_per_second: f64,
    /// How long pages appear (\[LOSS13\] §5.1: 3 weeks).
    pub duration: Span,
    /// How much longer clicks are counted (\[LOSS13\] §5.1: 1 week).
    pub aftermath: Span,
    /// The last part of `duration`, where profit is measured (\[LOSS13\] §5.3.3: 1 week).
    pub measured: Span,
    /// Burn-in before the start, so that sources begin full.
    pub burn_in: Span,

    /// Posts a day of an average blog. Assumed: the paper's blogs have single authors, so news sites
    /// publish nearly all pages.
    pub blog_pages_per_day: f64,
    /// Standard deviation of ln(pages a day) among hosts of a kind. Ten real
    /// news sites show 0.6 (`[DEN22]`); the top hundred of a country spread wider.
    pub host_spread: f64,
    /// Standard deviation of ln(share) among the categories of a host
    /// (`[DEN22]`: 1.14 among the sections of a site).
    pub category_spread: f64,
    /// Busiest over quietest hour of publication (`[DEN22]`: about 10).
    pub publication_swing: f64,
    /// Pages of a weekend day over those of a working day (`[DEN22]`: 0.59).
    pub weekend_publication: f64,

    /// Smallest and largest share of a site's pages that its front page shows
    /// (`[DEN22]`: 0.44 … 0.98).
    pub front_share: (f64, f64),
    /// Share of pages shown in a second category. Assumed; real sites show a
    /// page on 1.3 … 3.3 of their sections (`[DEN22]`).
    pub second_category_share: f64,
    /// Share of pages that the front page of another host shows too. Assumed small: sources overlap
    /// mostly within a host.
    pub partner_share: f64,
    /// Median length of a list with eight new links a day; busier lists are longer (`[DEN22]`: 25,
    /// growing as the power 0.27).
    pub list_capacity: f64,
    /// Standard deviation of ln(time) that links stay on a list, besides the daily rhythm
    /// (`[DEN22]`: coefficient of variation about 1.2 in total).
    pub stay_spread: f64,
    /// Share of second and further links that editors add hours later (`[DEN22]`: 0.15 after more
    /// than an hour).
    pub late_share: f64,
    /// Mean hours until such a late link (`[DEN22]`: median 4).
    pub late_hours: f64,
    /// Correlation of editors' preference for a page with ln(popularity) on its site. Assumed modest:
    /// no open data set has both.
    pub editor_correlation: f64,

    /// Share of the variance of ln(popularity) explained by the host.
    /// Assumed: \[BAH12\] find the publisher the best predictor before publication.
    pub host_share: f64,
    /// …by the category on its host (second best in \[BAH12\]).
    pub category_share: f64,
    /// …by the topic, which a word of the URL names. Assumed modest.
    pub topic_share: f64,
    /// Upper limit of a page's expected clicks: the audience is finite. With 8,000 the top 0.1% of
    /// the clicked pages holds as many clicks as in `[GLO17]`.
    pub audience: f64,
    /// Mean hours until interest awakes; with `decay_hours` it gives the median clicks by age of
    /// `[GLO17]` (4% after 1 h, 11% after 2 h, half after 8 h).
    pub rise_hours: f64,
    /// Median over pages of the mean hours that interest then lasts. Popular pages last longer, so
    /// that pages with enough clicks to measure have the median of `[GLO17]`.
    pub decay_hours: f64,
    /// Standard deviation of ln(decay time) among pages. The hours to half of the
    /// clicks vary by 0.9 in `[GLO17]`; rhythm and lasting pages add the rest.
    pub decay_spread: f64,
    /// Share of that variance explained by the category, so that sources have their own decay rates
    /// as in \[LOSS13\] §2. Assumed.
    pub decay_category_share: f64,
    /// Correlation of ln(decay time) with ln(popularity) (`[GLO17]`: 0.23).
    pub decay_correlation: f64,
    /// How much longer interest in a blog post lasts. Assumed.
    pub blog_decay_factor: f64,
    /// Share of pages whose interest does not decay (\[LOSS13\] §3.1: 4% of the visited).
    pub lasting_share: f64,
    /// Busiest over quietest hour of clicks (`[GLO17]`: about 13).
    pub click_swing: f64,
    /// Clicks of a weekend day over those of a working day (`[GLO17]`: 0.5, but its two weeks include a
    /// holiday, so the default is closer to 1).
    pub weekend_clicks: f64,
    /// Clicks of a page within this time share a row.
    pub click_bin: Span,
    /// Fetches per second that every host allows; `None` = no limit.
    pub host_max_rate: Option<Rate>,
}

impl Default for EchoConfig {
    fn default() -> Self {
        EchoConfig {
            scale: 1.0,
            news_sites: 100,
            blogs: 50,
            sources: 3_000,
            pages: 415_000,
            links: 2_400_000,
            clicked_share: 0.20,
            profit_per_second: 0.72,
            duration: Span::WEEK.times(3),
            aftermath: Span::WEEK,
            measured: Span::WEEK,
            burn_in: Span::WEEK,
            blog_pages_per_day: 5.0,
            host_spread: 0.9,
            category_spread: 1.14,
            publication_swing: 10.0,
            weekend_publication: 0.59,
            front_share: (0.44, 0.98),
            second_category_share: 0.2,
            partner_share: 0.01,
            list_capacity: 25.0,
            stay_spread: 0.6,
            late_share: 0.15,
            late_hours: 6.0,
            editor_correlation: 0.3,
            host_share: 0.20,
            category_share: 0.13,
            topic_share: 0.05,
            audience: 8_000.0,
            rise_hours: 1.0,
            decay_hours: 10.5,
            decay_spread: 0.65,
            decay_category_share: 0.3,
            decay_correlation: 0.23,
            blog_decay_factor: 1.5,
            lasting_share: 0.04,
            click_swing: 13.0,
            weekend_clicks: 0.6,
            click_bin: Span::MINUTE,
            host_max_rate: None,
        }
    }
}

impl EchoConfig {
    /// The second standard web: popularity lies with hosts and categories rather than with single
    /// pages. No published figure says how much hosts explain; the default takes the low end, this
    /// the high end.
    pub fn by_host() -> Self {
        EchoConfig { host_share: 0.7, category_share: 0.15, ..EchoConfig::default() }
    }

    /// Refuses the first invalid setting.
    pub fn check(&self) -> Result<(), BadSetting> {
        let checker = Checker("echo");
        checker.positive("scale", self.scale)?;
        for (setting, count) in [
            ("news_sites", self.news_sites),
            ("sources", self.sources),
            ("pages", self.pages),
            ("links", self.links),
        ] {
            checker.count(setting, count as f64 * self.scale.max(1.0))?;
        }
        self.check_shares(&checker)?;
        self.check_shapes(&checker)?;
        for (setting, span) in [
            ("duration", self.duration),
            ("measured", self.measured),
            ("burn_in", self.burn_in),
            ("click_bin", self.click_bin),
        ] {
            checker.span(setting, span)?;
        }
        checker.not_negative("aftermath", self.aftermath.seconds())
    }

    fn check_shares(&self, checker: &Checker) -> Result<(), BadSetting> {
        for (setting, share) in [
            ("clicked_share", self.clicked_share),
            ("weekend_publication", self.weekend_publication),
            ("weekend_clicks", self.weekend_clicks),
            ("front_share.0", self.front_share.0),
            ("front_share.1", self.front_share.1),
            ("second_category_share", self.second_category_share),
            ("partner_share", self.partner_share),
            ("late_share", self.late_share),
            ("editor_correlation", self.editor_correlation),
            ("host_share", self.host_share),
            ("category_share", self.category_share),
            ("topic_share", self.topic_share),
            ("host_share + category_share + topic_share", self.known_share()),
            ("decay_category_share", self.decay_category_share),
            ("decay_correlation", self.decay_correlation),
            (
                "decay_category_share + decay_correlation²",
                self.decay_category_share + self.decay_correlation.powi(2),
            ),
            ("lasting_share", self.lasting_share),
        ] {
            checker.share(setting, share)?;
        }
        Ok(())
    }

    fn check_shapes(&self, checker: &Checker) -> Result<(), BadSetting> {
        for (setting, value) in [
            ("profit_per_second", self.profit_per_second),
            ("publication_swing", self.publication_swing),
            ("click_swing", self.click_swing),
            ("list_capacity", self.list_capacity),
            ("audience", self.audience),
            ("decay_hours", self.decay_hours),
            ("blog_decay_factor", self.blog_decay_factor),
        ] {
            checker.positive(setting, value)?;
        }
        for (setting, value) in [
            ("blogs", self.blogs as f64),
            ("blog_pages_per_day", self.blog_pages_per_day),
            ("host_spread", self.host_spread),
            ("category_spread", self.category_spread),
            ("stay_spread", self.stay_spread),
            ("late_hours", self.late_hours),
            ("rise_hours", self.rise_hours),
            ("decay_spread", self.decay_spread),
        ] {
            checker.not_negative(setting, value)?;
        }
        Ok(())
    }

    /// Share of the variance of ln(popularity) that host, category and topic explain.
    pub(super) fn known_share(&self) -> f64 {
        self.host_share + self.category_share + self.topic_share
    }

    /// Seconds from the start at which the last click may fall.
    pub(super) fn horizon(&self) -> f64 {
        (self.duration + self.aftermath).seconds()
    }
}
