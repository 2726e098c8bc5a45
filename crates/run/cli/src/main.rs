//! The `tidewatch` command: one binary for crawling, the lab and science on files.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage. Errors are one sentence on
//! standard error; tables go to standard output, progress to a terminal only.

mod allocate;
mod check;
mod clicks;
mod cluster;
mod crawl;
mod demo;
mod diff;
mod estimate;
mod export;
mod fetch;
mod frontier;
mod ids;
mod lab;
mod label;
mod listed;
mod listen;
mod manual;
mod output;
mod parse;
mod progress;
mod rank;
mod repair;
mod robots;
mod rules;
mod serve;
mod status;
mod table_in;
mod table_out;
mod timetable;
mod url;
mod why;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// Some threads parse pages, another frees their memory; the system's allocator spends a tenth of a
/// crawl's time on that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "tidewatch", version, about, propagate_version = true)]
/// A web crawler that spends every fetch where it does its users the most good.
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a simulated web on loopback and crawl it.
    Demo(demo::DemoArgs),
    /// Crawl the web from seeds into one directory; run again to resume.
    Crawl(Box<crawl::Args>),
    /// Show the figures of a crawl, running or not.
    Status(status::Args),
    /// Check every file of a crawl that is not running, and cross-check them.
    Check(check::Args),
    /// Rebuild a damaged crawl in a new directory, and say what is lost.
    Repair(repair::Args),
    /// Serve search page, dashboard and API of a crawl that is not running.
    Serve(serve::Args),
    /// Import views and clicks of another search engine.
    #[command(subcommand)]
    Clicks(clicks::Command),
    /// Look at a crawl on several machines and move its parts.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Print every setting with its value and meaning.
    Config(crawl::ConfigArgs),
    /// Allocate a budget of fetches to pages: as rates, or as whole numbers in a window.
    Allocate(Box<allocate::Args>),
    /// Compare two versions of a page as a reader would.
    Diff(diff::Args),
    /// Estimate how often pages change from a log of visits.
    Estimate(estimate::Args),
    /// Export a crawl as CSV, as Parquet, or as a trace for the lab.
    Export(export::Args),
    /// Fetch one URL as the crawler would: outcome, reason, redirects, sizes, timings.
    Fetch(fetch::Args),
    /// Serve the order of fetches to other crawlers (URLFrontier 2.6).
    Frontier(Box<frontier::Args>),
    /// Try policies on simulated and recorded webs.
    #[command(subcommand)]
    Lab(lab::Command),
    /// Parse a page, feed or sitemap: links, text, entries, forms.
    Parse(parse::Args),
    /// Check which URLs a robots.txt allows, and by which line.
    Robots(robots::Args),
    /// Show the duplicate-URL rules that a crawl has learnt; veto or pin one.
    Rules(rules::Args),
    /// Label hosts as spam or good, or list those that are labelled or suspected.
    Label(label::Args),
    /// Rank pages by links, clicks and queries.
    Rank(Box<rank::Args>),
    /// Place crawls on the slots of crawlers, each as near its ideal time as possible.
    Timetable(timetable::Args),
    /// Predict the figures of a crawl at another budget.
    WhatIf(why::WhatIfArgs),
    /// Explain why a page of a crawl is due, or why not.
    Why(why::WhyArgs),
    /// Show the canonical form, SURT key, host and registrable domain of URLs.
    Url(url::Args),
    /// Print the completion script of a shell.
    Completions(manual::CompletionsArgs),
    /// Print or write the manual pages.
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Allocate(args) => allocate::run(&args),
        Command::Crawl(args) => crawl::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Repair(args) => repair::run(&args),
        Command::Clicks(command) => clicks::run(&command),
        Command::Cluster(command) => cluster::run(&command),
        Command::Serve(args) => serve::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Config(args) => crawl::print_config(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Frontier(args) => frontier::run(&args),
        Command::Lab(command) => lab::run(command),
        Command::Parse(args) => parse::run(&args),
        Command::Robots(args) => robots::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Label(args) => label::run(&args),
        Command::Rank(args) => rank::run(&args),
        Command::Timetable(args) => timetable::run(&args),
        Command::Url(args) => url::run(&args),
        Command::WhatIf(args) => why::what_if(&args),
        Command::Why(args) => why::why(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(&args, Cli::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            output::exit_code(&error).into()
        }
    }
}
