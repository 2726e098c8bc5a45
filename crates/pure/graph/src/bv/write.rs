//! Encoding: the cheapest of the references in the window, list by list.

use super::properties::Properties;
use crate::bits::{Counter, Sink, Writer, natural};
use crate::csr::Csr;

/// A compressed graph.
pub struct Written {
    /// The `.graph` file.
    pub graph: Vec<u8>,
    /// The `.properties` file.
    pub properties: String,
    /// Bits used; the last byte is padded.
    pub bits: u64,
}

/// Compresses a graph with the default codes and window of the WebGraph tools.
pub fn write(graph: &Csr) -> Written {
    let properties = Properties::usual(graph.len() as u32, graph.links());
    let window = properties.window as usize;
    let mut depth = vec![0_u32; window + 1];
    let mut writer = Writer::default();
    let mut scratch = Scratch::default();
    for node in 0..graph.len() as u32 {
        let list = graph.of(node);
        writer.gamma(list.len() as u64);
        let place = node as usize % (window + 1);
        depth[place] = 0;
        if list.is_empty() {
            continue;
        }
        let mut best = (scratch.cost(&properties, node, list, 0, &[]), 0);
        for back in 1..=properties.window.min(node) {
            let other = node - back;
            let chain = depth[other as usize % (window + 1)];
            if chain < properties.most_references && graph.degree(other) > 0 {
                let cost = scratch.cost(&properties, node, list, back, graph.of(other));
                best = best.min((cost, back));
            }
        }
        let back = best.1;
        let reference = if back == 0 { &[][..] } else { graph.of(node - back) };
        scratch.encode(&mut writer, &properties, node, list, back, reference);
        if back > 0 {
            depth[place] = depth[(node - back) as usize % (window + 1)] + 1;
        }
    }
    let bits = writer.written;
    Written { graph: writer.finish(), properties: properties.text(bits), bits }
}

/// Parts of the list being encoded, kept to save allocations.
#[derive(Default)]
struct Scratch {
    blocks: Vec<u64>,
    extra: Vec<u32>,
    /// Start and length.
    intervals: Vec<(u32, u32)>,
    residuals: Vec<u32>,
}

impl Scratch {
    fn cost(&mut self, p: &Properties, node: u32, list: &[u32], back: u32, of: &[u32]) -> u64 {
        let mut counter = Counter::default();
        self.encode(&mut counter, p, node, list, back, of);
        counter.0
    }

    fn encode<S: Sink>(
        &mut self,
        sink: &mut S,
        properties: &Properties,
        node: u32,
        list: &[u32],
        back: u32,
        reference: &[u32],
    ) {
        sink.unary(u64::from(back));
        if back == 0 {
            self.extra.clear();
            self.extra.extend_from_slice(list);
        } else {
            self.split(list, reference);
            sink.gamma(self.blocks.len() as u64);
            for (i, &block) in self.blocks.iter().enumerate() {
                sink.gamma(block - u64::from(i > 0));
            }
        }
        if !self.extra.is_empty() {
            self.find_intervals(properties.least_interval);
            self.put_intervals(sink, node, properties.least_interval);
            let mut last = None;
            for &to in &self.residuals {
                sink.zeta(3, step(node, last, to));
                last = Some(to);
            }
        }
    }

    /// Blocks of the reference that the list repeats and skips, in turn, and the rest of the list.
    fn split(&mut self, list: &[u32], reference: &[u32]) {
        self.blocks.clear();
        self.extra.clear();
        let (mut j, mut k, mut copying, mut block) = (0, 0, true, 0);
        while j < list.len() && k < reference.len() {
            let (mine, theirs) = (list[j], reference[k]);
            if mine < theirs {
                self.extra.push(mine);
                j += 1;
            } else if (mine == theirs) == copying {
                j += usize::from(copying);
                k += 1;
                block += 1;
            } else {
                self.blocks.push(block);
                (copying, block) = (!copying, 0);
            }
        }
        // The last block goes without saying unless copying stopped short.
        if copying && k < reference.len() {
            self.blocks.push(block);
        }
        self.extra.extend_from_slice(&list[j..]);
    }

    fn find_intervals(&mut self, least: u32) {
        self.intervals.clear();
        self.residuals.clear();
        for run in self.extra.chunk_by(|a, b| a + 1 == *b) {
            if least > 0 && run.len() >= least as usize {
                self.intervals.push((run[0], run.len() as u32));
            } else {
                self.residuals.extend_from_slice(run);
            }
        }
    }

    fn put_intervals<S: Sink>(&self, sink: &mut S, node: u32, least: u32) {
        sink.gamma(self.intervals.len() as u64);
        let mut last = None;
        for &(start, length) in &self.intervals {
            sink.gamma(step(node, last, start));
            sink.gamma(u64::from(length - least));
            last = Some(start + length);
        }
    }
}

/// The distance to the node itself at first, then to what came before, less one.
fn step(node: u32, last: Option<u32>, to: u32) -> u64 {
    match last {
        None => natural(i64::from(to) - i64::from(node)),
        Some(last) => u64::from(to - last - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, read};
    use super::*;
    use proptest::prelude::*;

    fn round_trip(graph: &Csr) -> Csr {
        let written = write(graph);
        let properties = Properties::parse(&written.properties).unwrap();
        read(&properties, &written.graph, Limits::default()).unwrap()
    }

    #[test]
    fn repeated_lists_cost_almost_nothing() {
        let links: Vec<_> =
            (0..500_u32).flat_map(|i| (0..40).map(move |j| (i, 600 + 3 * j))).collect();
        let graph = Csr::from_links(1000, &links).unwrap();
        assert_eq!(round_trip(&graph), graph);
        // A repeated list takes a degree (11 bits), a reference, no block; one in four is new.
        let per_link = write(&graph).bits as f64 / graph.links() as f64;
        assert!(per_link < 2.0, "{per_link}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            links in prop::collection::vec((0..60_u32, 0..60_u32), 0..900),
            runs in prop::collection::vec((0..60_u32, 0..50_u32, 1..10_u32), 0..20),
        ) {
            let runs = runs.into_iter().flat_map(|(a, b, n)| (b..b + n).map(move |b| (a, b)));
            let links: Vec<_> = links.into_iter().chain(runs).collect();
            let graph = Csr::from_links(60, &links).unwrap();
            prop_assert_eq!(round_trip(&graph), graph);
        }

        #[test]
        fn damage_is_refused_or_gives_a_graph(
            links in prop::collection::vec((0..30_u32, 0..30_u32), 1..200),
            place in any::<prop::sample::Index>(),
            flip in 1..=255_u8,
        ) {
            let written = write(&Csr::from_links(30, &links).unwrap());
            let mut bytes = written.graph.clone();
            let at = place.index(bytes.len());
            bytes[at] ^= flip;
            let properties = Properties::parse(&written.properties).unwrap();
            if let Ok(graph) = read(&properties, &bytes, Limits::default()) {
                prop_assert_eq!(graph.len(), 30);
            }
            prop_assert!(read(&properties, &bytes[..at], Limits::default()).is_err());
        }
    }
}
