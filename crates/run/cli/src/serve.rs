//! `tidewatch serve`: search page, dashboard and API of a crawl that is not running.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use tidewatch_service::{Service, ServiceConfig};

use crate::listen::ListenArgs;

#[derive(clap::Args)]
#[command(after_help = "Example: tidewatch serve --dir news --listen 127.0.0.1:7700\n\nWhile a \
                        crawl runs, tidewatch crawl --listen serves the same. A missing index is \
                        rebuilt from the archive.")]
pub(crate) struct Args {
    /// The crawl's directory.
    #[arg(long)]
    dir: PathBuf,
    /// Where to listen. Any address but loopback needs --token-file.
    #[arg(long, default_value = "127.0.0.1:7700", value_name = "ADDR")]
    listen: SocketAddr,
    #[command(flatten)]
    serve: ListenArgs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let listen = Some(args.serve.at(args.listen)?);
    let config = ServiceConfig { listen, ..ServiceConfig::new(&args.dir) };
    let mut service = Service::open_to_read(&config)?;
    service.stop_on_signals();
    let at = service.address().unwrap_or(args.listen);
    eprintln!("Serving {} at http://{at}/ (Ctrl-C stops)", args.dir.display());
    service.run()?;
    service.finish(None);
    Ok(())
}
