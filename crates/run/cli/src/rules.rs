//! `tidewatch rules`: lists, vetoes and pins the rules about duplicate URLs.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use serde_json::json;
use tidewatch_partition::rules::{RuleName, Ruling};
use tidewatch_service::{RulesAnswer, rule_table};

use crate::output;

/// Rules shown.
const MOST: usize = 1_000;

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch rules --dir news --veto 1f0c8a5e42d97b36\n\nA rule unites \
                        URLs of one page. It is learnt from pages that showed the same, redirects \
                        and canonical links, tried on every fetch, and applied once it is sure. \
                        The crawl may be running."
)]
pub(crate) struct Args {
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Never apply this rule.
    #[arg(long, value_name = "ID", conflicts_with_all = ["pin", "undo"])]
    veto: Option<RuleName>,
    /// Apply this rule, whatever its trials say.
    #[arg(long, value_name = "ID", conflicts_with = "undo")]
    pin: Option<RuleName>,
    /// Withdraw an earlier --veto or --pin.
    #[arg(long, value_name = "ID")]
    undo: Option<RuleName>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted = [(args.veto, Ruling::Veto), (args.pin, Ruling::Pin), (args.undo, Ruling::Undo)];
    for (rule, ruling) in wanted {
        if let Some(rule) = rule
            && !tidewatch_service::decide(&args.dir, rule, ruling)?
        {
            return Err(anyhow!("this crawl knows no rule {rule}; tidewatch rules lists all"));
        }
    }
    let RulesAnswer { rules, missing } = tidewatch_service::rules(&args.dir, MOST)?;
    if let Some(missing) = missing {
        eprintln!("tidewatch: {missing}");
    }
    if args.json {
        let json = json!({ "rules": rules });
        return output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    }
    if rules.is_empty() {
        return output::print("No rule was learnt yet.\n");
    }
    output::print(&rule_table(&rules).to_text(output::width()))
}
