//! `tidewatch completions` and `tidewatch man`: what the shell and `man` know of the command.

use std::io::{Write as _, stdout};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch completions bash > \
                        ~/.local/share/bash-completion/completions/tidewatch")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch man crawl | man -l -\n\nExample: tidewatch man \
                        --output ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The command, such as `crawl` or `lab compare`; all of them if none is named.
    command: Vec<String>,
    /// Write every page to this directory.
    #[arg(short, long, conflicts_with = "command")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs, mut cli: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "tidewatch", &mut script);
    Ok(stdout().write_all(&script)?)
}

pub(crate) fn man(args: &ManArgs, mut cli: Command) -> Result<()> {
    cli.build();
    if let Some(dir) = &args.output {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        return clap_mangen::generate_to(cli, dir)
            .with_context(|| format!("cannot write manual pages to {}", dir.display()));
    }
    let mut command = &cli;
    for name in &args.command {
        let Some(found) = command.find_subcommand(name) else {
            bail!("there is no command `{name}`; `tidewatch --help` lists them")
        };
        command = found;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(stdout().write_all(&page)?)
}
