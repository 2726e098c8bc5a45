//! Options that say which pages are wanted most.

use anyhow::Result;
use tidewatch_partition::Config;
use tidewatch_partition::topic::{Example, Language};
use toml::Value;

use super::scope::list;

/// Each overrules the setting of the same meaning, and what the crawl was begun with.
#[derive(clap::Args)]
#[command(next_help_heading = "Topic")]
pub(super) struct TopicArgs {
    /// Words that name what you want. Pages on that topic, and pages that should lead to them, are
    /// fetched before others.
    #[arg(long, value_name = "WORDS")]
    topic: Option<String>,
    /// An example page of what you want: a file, or a URL, which becomes a seed. Name about ten. May be
    /// repeated.
    #[arg(long, value_name = "FILE|URL")]
    like: Vec<Example>,
    /// Languages wanted, such as en,de.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    lang: Vec<Language>,
    /// What an unwanted page is still worth, in percent of a wanted one (default 5).
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    elsewhere: Option<u32>,
}

impl TopicArgs {
    /// Sets what was named.
    pub(super) fn apply(&self, config: &mut Config) -> Result<()> {
        let mut set = |key: &str, value: Option<Value>| -> Result<()> {
            Ok(value.map_or(Ok(()), |value| config.set(key, &value))?)
        };
        set("topic.words", self.topic.clone().map(Value::String))?;
        set("topic.like", list(&self.like))?;
        set("topic.languages", list(&self.lang))?;
        set("topic.elsewhere_percent", self.elsewhere.map(|share| Value::Integer(share.into())))
    }
}
