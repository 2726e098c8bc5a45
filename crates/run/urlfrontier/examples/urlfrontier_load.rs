//! Puts URLs into a URLFrontier server and takes them out again, and tells rates, CPU time and memory.
//!
//! ```sh
//! tidewatch frontier --dir /tmp/urls --listen 127.0.0.1:7071 &
//! cargo run --release -p tidewatch-urlfrontier --example urlfrontier_load -- 127.0.0.1:7071 $! 1000000 8
//! ```
//!
//! The arguments are address, process id of the server, URLs and clients. It speaks nothing but the
//! protocol, so it measures any server of it on this machine.

#![allow(clippy::print_stdout, reason = "prints what it measured")]

use std::error::Error;
use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use tidewatch_urlfrontier::protocol::url_frontier_client::UrlFrontierClient;
use tidewatch_urlfrontier::protocol::{DiscoveredBatch, GetParams, QueueDelayParams, UrlInfo};
use tokio::task::JoinSet;
use tonic::transport::Channel;

type Client = UrlFrontierClient<Channel>;
type Failed = Box<dyn Error + Send + Sync>;

/// URLs of a host, and of a batch.
const HOST_URLS: u64 = 100;
const BATCH_URLS: u64 = 100;
/// Linux counts CPU time in hundredths of a second.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, process, urls, clients] = &args[..] else {
        return Err("give address, process id, URLs and clients".into());
    };
    let (urls, clients): (u64, u64) = (urls.parse()?, clients.parse()?);
    let address = format!("http://{address}");
    let mut first = UrlFrontierClient::connect(address.clone()).await?;
    first.set_delay(QueueDelayParams::default()).await?;

    let begun = Begun::now(process)?;
    let mut puts = JoinSet::new();
    for client in 0..clients {
        let stub = UrlFrontierClient::connect(address.clone()).await?;
        let share = client * urls / clients..(client + 1) * urls / clients;
        puts.spawn(put(stub, share));
    }
    let put = sum(puts).await?;
    begun.print("PutDiscovered", put, clients)?;

    let begun = Begun::now(process)?;
    let mut gets = JoinSet::new();
    for _ in 0..clients {
        gets.spawn(get(UrlFrontierClient::connect(address.clone()).await?));
    }
    let got = sum(gets).await?;
    begun.print("GetURLs", got, clients)?;
    Ok(())
}

async fn sum(mut tasks: JoinSet<Result<u64, Failed>>) -> Result<u64, Failed> {
    let mut sum = 0;
    while let Some(done) = tasks.join_next().await {
        sum += done??;
    }
    Ok(sum)
}

fn batch(from: u64, to: u64) -> DiscoveredBatch {
    let info = |number: u64| UrlInfo {
        url: format!("https://host{}.example/section/page-{number}.html", number / HOST_URLS),
        ..UrlInfo::default()
    };
    DiscoveredBatch { id: from.to_string(), items: (from..to).map(info).collect() }
}

async fn put(mut stub: Client, share: std::ops::Range<u64>) -> Result<u64, Failed> {
    let end = share.end;
    let batches = share.step_by(BATCH_URLS as usize);
    let batches = batches.map(move |from| batch(from, end.min(from + BATCH_URLS)));
    let mut acks = stub.put_discovered(stream::iter(batches)).await?.into_inner();
    let mut count = 0;
    while let Some(ack) = acks.message().await? {
        count += ack.statuses.iter().filter(|&&status| status == 0).count() as u64;
    }
    Ok(count)
}

async fn get(mut stub: Client) -> Result<u64, Failed> {
    let params = GetParams {
        max_urls_per_queue: HOST_URLS as u32,
        max_queues: 10,
        delay_requestable: 86_400,
        ..GetParams::default()
    };
    let mut count = 0;
    loop {
        let given = stub.get_ur_ls(params.clone()).await?.into_inner();
        let got = given.fold(0, |count, info| async move { count + u64::from(info.is_ok()) }).await;
        if got == 0 {
            return Ok(count);
        }
        count += got;
    }
}

/// The start of a measurement.
struct Begun<'p> {
    process: &'p str,
    at: Instant,
    cpu_seconds: f64,
}

impl<'p> Begun<'p> {
    fn now(process: &'p str) -> Result<Self, Failed> {
        Ok(Begun { process, at: Instant::now(), cpu_seconds: cpu_seconds(process)? })
    }

    fn print(&self, call: &str, urls: u64, clients: u64) -> Result<(), Failed> {
        let (took, millions) = (self.at.elapsed().as_secs_f64(), urls as f64 / 1e6);
        let cpu = cpu_seconds(self.process)? - self.cpu_seconds;
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?");
        println!(
            "{call}: {urls} URLs, {clients} clients: {:.0} URLs/s, {:.2} CPU s a million, peak {}",
            urls as f64 / took,
            cpu / millions,
            peak.trim(),
        );
        Ok(())
    }
}

/// CPU time of a process, user and system.
fn cpu_seconds(process: &str) -> Result<f64, Failed> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no such process")?;
    let ticks = |at: usize| fields.split_whitespace().nth(at)?.parse::<f64>().ok();
    let ticks = ticks(11).zip(ticks(12)).ok_or("no CPU time")?;
    Ok((ticks.0 + ticks.1) / TICKS)
}
