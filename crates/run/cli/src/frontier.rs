//! `tidewatch frontier`: a URLFrontier server.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::listen::PublisherArgs;
use anyhow::{Context, Result};
use tidewatch_core::Rate;
use tidewatch_urlfrontier::{Options, Order, Publishers, Secured, Server, Settings};
use tokio::signal::unix::{SignalKind, signal};

/// Of so many files that may be open, one is for a connection; the others are for tables and publishers.
const SHARE_OF_FILES: usize = 4;

#[derive(clap::Args)]
#[command(
    after_help = "Example: tidewatch frontier --dir urls --listen 127.0.0.1:7071\n\nWithout \
                        --policy the server obeys the dates that clients give, oldest first. With \
                        it the policy decides. docs/urlfrontier.md tells how to connect a crawler."
)]
pub(crate) struct Args {
    /// Directory that holds all state.
    #[arg(long)]
    dir: PathBuf,
    /// Where to listen. Any address but loopback needs --token-file, --tls-cert and --tls-key.
    #[arg(long, default_value = "127.0.0.1:7071", value_name = "ADDR")]
    listen: SocketAddr,
    /// Policy that decides what is given out; `tidewatch lab list` shows all.
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// With --policy: URLs given out, such as 5/s or 300/min.
    #[arg(long, default_value = "5/s", requires = "policy")]
    budget: Rate,
    /// With --policy: all randomness of the policy follows from this.
    #[arg(long, default_value_t = 1, requires = "policy")]
    seed: u64,
    /// Cache of the tables, in MiB.
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    cache: u64,
    /// Show figures and metrics, and answer why and what-if, over HTTP at this address of this machine.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    #[command(flatten)]
    publishers: PublisherArgs,
    /// With --publishers: the URL or mail address that publishers find in requests for their keys.
    #[arg(long, default_value = "", value_name = "CONTACT")]
    contact: String,
    /// With --publishers: fetch keys from private addresses too, and ask hubs there.
    #[arg(long, requires = "publishers")]
    allow_private: bool,
    /// File with the token that clients send (at least 16 characters).
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    token_file: Option<PathBuf>,
    /// File with the certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "token_file")]
    tls_cert: Option<PathBuf>,
    /// File with the certificate's private key, PEM.
    #[arg(long, value_name = "FILE", requires = "token_file")]
    tls_key: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(args))
}

async fn serve(args: &Args) -> Result<()> {
    let order = match &args.policy {
        Some(policy) => {
            Order::Managed { policy: policy.clone(), seed: args.seed, budget: args.budget }
        }
        None => Order::Strict,
    };
    let settings = Settings { dir: args.dir.clone(), order, cache: args.cache << 20 };
    let secured = secured(args)?;
    let opening = Instant::now();
    let (desk, publishers) = (args.http, publishers(args)?);
    let connections = tidewatch_service::raise_open_files() / SHARE_OF_FILES;
    let address = args.listen;
    let options = Options { address, settings, secured, desk, publishers, connections };
    let server = Server::bind(options).await?;
    let (took, at) = (opening.elapsed().as_secs_f64(), server.address());
    eprintln!("Serving {} at {at}, opened in {took:.1} s (Ctrl-C stops)", args.dir.display());
    if let Some(at) = server.desk() {
        eprintln!("Figures at http://{at}/");
    }
    if let Some(at) = server.publishers_at() {
        eprintln!("Publishers may speak at http://{at}/");
    }
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    Ok(server.run(stop).await?)
}

fn publishers(args: &Args) -> Result<Option<Publishers>> {
    let Some(settings) = args.publishers.settings()? else { return Ok(None) };
    let tidewatch_service::Publishers { address, indexnow, websub } = settings;
    let user_agent = tidewatch_fetch::user_agent(&args.contact);
    let allow_private = args.allow_private;
    Ok(Some(Publishers { address, indexnow, websub, allow_private, user_agent }))
}

fn secured(args: &Args) -> Result<Option<Secured>> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (Some(token), Some(certificate), Some(key)) =
        (&args.token_file, &args.tls_cert, &args.tls_key)
    else {
        return Ok(None);
    };
    let token = String::from_utf8_lossy(&read(token)?).trim().to_owned();
    Ok(Some(Secured { certificate: read(certificate)?, key: read(key)?, token }))
}
