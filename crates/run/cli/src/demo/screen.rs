//! Shows progress: a bar on a terminal, a line every few seconds elsewhere.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tidewatch_core::Span;

use super::summary::Summary;
use crate::output;

/// How often a line is printed where there is no terminal.
const LINE: Duration = Duration::from_secs(5);

/// Shows progress: a bar on a terminal, a line every few seconds elsewhere.
pub(super) struct Screen {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Screen {
    pub(super) fn new(duration: Span, address: SocketAddr) -> Self {
        eprintln!(
            "Crawling a simulated web on loopback: search at http://{address}/, dashboard at \
             http://{address}/dashboard (Ctrl-C stops)"
        );
        let bar = output::is_watched().then(|| {
            let bar = ProgressBar::new(duration.seconds() as u64);
            let style = ProgressStyle::with_template("{bar:24} {elapsed} {wide_msg}");
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        Screen { bar, last: Instant::now() }
    }

    pub(super) fn show(&mut self, summary: &Summary) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(summary.real_s() as u64);
                bar.set_message(summary.line());
            }
            None if self.last.elapsed() >= LINE => {
                self.last = Instant::now();
                eprintln!("{}", summary.line());
            }
            None => {}
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
