//! Generators by name, for the command line.

use tidewatch_report::{Cell, Column, Table};

use super::shared::BadSetting;
use super::{Generated, echo, graph, longevity, mixed, renewal, unclean};

/// Settings from the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorOptions {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Size of the web, as a multiple of the published setting.
    pub scale: f64,
}

/// A generator and its name.
#[derive(Clone, Copy)]
pub struct Generator {
    /// Its name.
    pub name: &'static str,
    /// What it makes, in one line.
    pub about: &'static str,
    /// Generates the web.
    pub make: fn(&GeneratorOptions) -> Result<Generated, BadSetting>,
}

/// Every generator.
pub const KINDS: &[Generator] = &[
    Generator {
        name: "echo",
        about: "sources and short-lived new pages, as in ECHO's data",
        make: |options| {
            let config = echo::EchoConfig { scale: options.scale, ..Default::default() };
            config.check().map(|()| echo::generate(&config, options.seed))
        },
    },
    Generator {
        name: "echo-hosts",
        about: "echo with popularity concentrated on hosts rather than on single pages",
        make: |options| {
            let config = echo::EchoConfig { scale: options.scale, ..echo::EchoConfig::by_host() };
            config.check().map(|()| echo::generate(&config, options.seed))
        },
    },
    Generator {
        name: "longevity",
        about: "pages of static, churning and scrolling regions, like high-quality pages",
        make: |options| {
            let config = longevity::Config { scale: options.scale, ..Default::default() };
            config.check().map(|()| longevity::generate(&config, options.seed))
        },
    },
    Generator {
        name: "longevity-random",
        about: "pages of static, churning and scrolling regions, like a random sample",
        make: |options| {
            let config = longevity::Config { scale: options.scale, ..longevity::Config::random() };
            config.check().map(|()| longevity::generate(&config, options.seed))
        },
    },
    Generator {
        name: "renewal",
        about: "pages that change by Poisson, Weibull, Pareto and quasi-deterministic laws",
        make: |options| renewal_of(renewal::Config::default(), options),
    },
    Generator {
        name: "renewal-stopping",
        about: "pages that stop changing for good, on average half-way",
        make: |options| renewal_of(renewal::Config::stopping(), options),
    },
    Generator {
        name: "renewal-drifting",
        about: "pages whose change rates drift within ten days",
        make: |options| renewal_of(renewal::Config::drifting(), options),
    },
    Generator {
        name: "renewal-fast",
        about: "pages that change twenty times a day on average",
        make: |options| renewal_of(renewal::Config::fast(), options),
    },
    Generator {
        name: "graph",
        about: "a growing link graph whose clicks go to very few pages",
        make: |options| {
            let config = graph::Config { scale: options.scale, ..graph::Config::web_crawl() };
            config.check().map(|()| graph::generate(&config, options.seed))
        },
    },
    Generator {
        name: "graph-wikipedia",
        about: "a growing link graph whose clicks are spread, like an encyclopedia's",
        make: |options| {
            let config = graph::Config { scale: options.scale, ..graph::Config::wikipedia() };
            config.check().map(|()| graph::generate(&config, options.seed))
        },
    },
    Generator {
        name: "mixed",
        about: "echo, renewal, longevity and graph merged into one web",
        make: |options| {
            let config = mixed::MixedConfig { scale: options.scale, ..Default::default() };
            config.check().map(|()| mixed::generate(&config, options.seed))
        },
    },
    Generator {
        name: "unclean",
        about: "echo with renamed and repeated pages, traps, mirrors and spam, and the truth about them",
        make: |options| {
            let config = unclean::UncleanConfig { scale: options.scale, ..Default::default() };
            config.check().map(|()| unclean::generate(&config, options.seed))
        },
    },
];

fn renewal_of(
    config: renewal::Config,
    options: &GeneratorOptions,
) -> Result<Generated, BadSetting> {
    let config = renewal::Config { scale: options.scale, ..config };
    config.check().map(|()| renewal::generate(&config, options.seed))
}

/// The generator of that name.
pub fn find(name: &str) -> Option<&'static Generator> {
    KINDS.iter().find(|kind| kind.name == name)
}

impl Generated {
    /// Published and measured figures as a table.
    pub fn table(&self) -> Table {
        let columns = [
            Column::text("fact"),
            Column::number("published"),
            Column::number("ours"),
            Column::text("source"),
        ];
        let mut table = Table::new(columns);
        for fact in &self.facts {
            let published = fact.published.map_or_else(Cell::missing, |v| Cell::significant(v, 4));
            table.push([
                Cell::text(fact.what.clone()),
                published,
                Cell::significant(fact.ours, 4),
                Cell::text(fact.source),
            ]);
        }
        table
    }
}
