//! The surroundings of a partition: a clock, and a network that carries out its jobs.
//!
//! [`run_in`](crate::run_in) asks for time and network through [`Outside`] alone. [`Live`] is the real
//! one. A simulator brings its own and so drives the very same loop, with a clock that does not wait.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use tidewatch_frontier::network_of;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::report::unix_micros;
use crate::work::{Job, Report};
use crate::{AddressGate, Net, Partition};

/// Longest that the loop sleeps: a stop is noticed within this time.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A clock, and jobs under way.
pub trait Outside {
    /// The calendar's time, in microseconds of Unix time.
    fn unix_micros(&self) -> i64;
    /// Time since the run began. It never goes back.
    fn passed(&self) -> Duration;
    /// Lets time pass.
    fn sleep(&mut self, time: Duration);
    /// Begins a job.
    fn begin(&mut self, job: Job, pass: Option<Pass>);
    /// Jobs that were begun and whose reports were not taken.
    fn under_way(&self) -> usize;
    /// Waits for a report, at most this long. It may give up sooner, so that a stop is noticed.
    fn wait(&mut self, longest: Duration) -> Option<Report>;
    /// A report that is there already.
    fn ready(&mut self) -> Option<Report>;
}

/// The turn at an address that a job has to wait for, where several partitions share it.
pub struct Pass {
    gate: Arc<AddressGate>,
    address: IpAddr,
}

impl Pass {
    /// The pass that a job needs; `None` if the partition shares no address.
    pub(crate) fn of(partition: &Partition, job: &Job) -> Option<Pass> {
        let gate = Arc::clone(partition.member()?.gate());
        let address = match job {
            Job::Resolve { .. } => return None,
            Job::Robots { host, .. } | Job::Page { host, .. } => partition.address_of(*host)?,
        };
        Some(Pass { gate, address: network_of(address) })
    }
}

/// The real clock and network. Jobs still under way when it is dropped are broken off: whoever opens the
/// partition next counts the gaps of its hosts from then.
pub(crate) struct Live<'l> {
    net: &'l Arc<Net>,
    runtime: &'l Handle,
    began: Instant,
    sender: Sender<Report>,
    reports: Receiver<Report>,
    under_way: usize,
    tasks: JoinSet<()>,
}

impl<'l> Live<'l> {
    /// Time begins now.
    pub(crate) fn new(net: &'l Arc<Net>, runtime: &'l Handle) -> Live<'l> {
        let (sender, reports) = mpsc::channel();
        let (began, tasks) = (Instant::now(), JoinSet::new());
        Live { net, runtime, began, sender, reports, under_way: 0, tasks }
    }

    fn taken(&mut self, report: Option<Report>) -> Option<Report> {
        self.under_way -= usize::from(report.is_some());
        report
    }
}

impl Outside for Live<'_> {
    fn unix_micros(&self) -> i64 {
        unix_micros(SystemTime::now())
    }

    fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn begin(&mut self, job: Job, pass: Option<Pass>) {
        let (net, sender) = (Arc::clone(self.net), self.sender.clone());
        self.under_way += 1;
        while self.tasks.try_join_next().is_some() {}
        let task = async move {
            let report = match pass {
                Some(Pass { gate, address }) => {
                    let copy = job.clone();
                    let request = Box::pin(net.perform(job));
                    let made = gate.pass(address, request).await;
                    made.unwrap_or_else(|| copy.given_up())
                }
                None => net.perform(job).await,
            };
            // Nobody listens any more when the crawl has stopped.
            let _ = sender.send(report);
        };
        self.tasks.spawn_on(task, self.runtime);
    }

    fn under_way(&self) -> usize {
        self.under_way
    }

    fn wait(&mut self, longest: Duration) -> Option<Report> {
        let report = self.reports.recv_timeout(longest.min(LONGEST_SLEEP)).ok();
        self.taken(report)
    }

    fn ready(&mut self) -> Option<Report> {
        let report = self.reports.try_recv().ok();
        self.taken(report)
    }
}
