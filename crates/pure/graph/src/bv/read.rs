//! Decoding, list by list.

use super::properties::{Code, Properties};
use crate::GraphError;
use crate::bits::{Reader, whole};
use crate::csr::Csr;

/// Sizes above which a graph is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes.
    pub nodes: u32,
    /// Links.
    pub links: u64,
}

impl Default for Limits {
    /// A thousand million links: 4 GB in memory one way.
    fn default() -> Self {
        Limits { nodes: 1 << 28, links: 1 << 30 }
    }
}

/// Reads the whole graph from the bytes of its `.graph` file.
///
/// Self-loops, which crawls have, are dropped; everything else is as written.
pub fn read(properties: &Properties, bytes: &[u8], limits: Limits) -> Result<Csr, GraphError> {
    let too_large = |what, found, most| Err(GraphError::TooLarge { what, found, most });
    if properties.nodes > limits.nodes {
        return too_large("nodes", properties.nodes.into(), limits.nodes.into());
    }
    if properties.arcs > limits.links {
        return too_large("links", properties.arcs, limits.links);
    }
    // A node takes a bit at least, so a short file cannot ask for much.
    if u64::from(properties.nodes) > 8 * bytes.len() as u64 {
        return Err(GraphError::Damaged { node: 0, problem: "there are more nodes than bits" });
    }
    let expected = properties.arcs.min(64 * bytes.len() as u64) as usize;
    let mut builder = Csr::builder(properties.nodes, expected);
    let mut decoder = Decoder::new(properties, bytes);
    let mut read = 0;
    let mut simple = Vec::new();
    for node in 0..properties.nodes {
        let damaged = |problem| GraphError::Damaged { node, problem };
        let list = decoder.next(node).map_err(damaged)?;
        read += list.len() as u64;
        if read > properties.arcs {
            return Err(damaged("there are more links than the properties say"));
        }
        simple.clear();
        simple.extend(list.iter().copied().filter(|&to| to != node));
        builder.push(&simple);
    }
    if read != properties.arcs {
        let node = properties.nodes.saturating_sub(1);
        return Err(GraphError::Damaged {
            node,
            problem: "there are fewer links than the properties say",
        });
    }
    debug_assert!(builder.links() <= read);
    Ok(builder.finish())
}

/// The lists of the last nodes, in a ring.
struct Decoder<'a> {
    properties: &'a Properties,
    reader: Reader<'a>,
    window: Vec<Vec<u32>>,
    copied: Vec<u32>,
    extra: Vec<u32>,
}

type Read<T> = Result<T, &'static str>;
const END: &str = "the bits end early or a code is too long";
const OUTSIDE: &str = "a link leads outside the graph";

impl<'a> Decoder<'a> {
    fn new(properties: &'a Properties, bytes: &'a [u8]) -> Self {
        Decoder {
            properties,
            reader: Reader::new(bytes),
            window: vec![Vec::new(); properties.window as usize + 1],
            copied: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn number(&mut self, code: Code) -> Read<u64> {
        let number = match code {
            Code::Unary => self.reader.unary(),
            Code::Gamma => self.reader.gamma(),
            Code::Delta => self.reader.delta(),
            Code::Zeta(k) => self.reader.zeta(k),
        };
        number.ok_or(END)
    }

    /// The list of the next node.
    fn next(&mut self, node: u32) -> Read<&[u32]> {
        let ring = self.window.len();
        let degree = self.number(self.properties.outdegrees)?;
        if degree > u64::from(self.properties.nodes) {
            return Err("a node has more links than there are nodes");
        }
        self.copied.clear();
        self.extra.clear();
        if degree > 0 {
            if self.properties.window > 0 {
                self.copy(node, degree)?;
            }
            let missing = (degree as usize)
                .checked_sub(self.copied.len())
                .ok_or("a list repeats more links than it has")?;
            self.intervals(node, missing)?;
            self.residuals(node, missing - self.extra.len())?;
        }
        let list = &mut self.window[node as usize % ring];
        merge(&self.copied, &mut self.extra, list)?;
        Ok(list)
    }

    /// Repeats blocks of an earlier list: copied and skipped ones in turn, the
    /// last one up to its end.
    fn copy(&mut self, node: u32, degree: u64) -> Read<()> {
        let back = self.number(self.properties.references)?;
        if back == 0 {
            return Ok(());
        }
        if back > u64::from(self.properties.window.min(node)) {
            return Err("a reference leads out of the window");
        }
        let blocks = self.number(self.properties.block_counts)?;
        let source = (u64::from(node) - back) as usize % self.window.len();
        let length = self.window[source].len() as u64;
        if blocks > length + 1 || degree == 0 {
            return Err("there are more blocks than links to repeat");
        }
        let mut at = 0;
        for block in 0..blocks {
            let size = self.number(self.properties.blocks)? + u64::from(block > 0);
            let end = at + size;
            if end > length {
                return Err("a block reaches past the list it repeats");
            }
            if block % 2 == 0 {
                self.copied.extend_from_slice(&self.window[source][at as usize..end as usize]);
            }
            at = end;
        }
        if blocks % 2 == 0 {
            self.copied.extend_from_slice(&self.window[source][at as usize..]);
        }
        Ok(())
    }

    fn intervals(&mut self, node: u32, missing: usize) -> Read<()> {
        let least = u64::from(self.properties.least_interval);
        if missing == 0 || least == 0 {
            return Ok(());
        }
        let count = self.number(Code::Gamma)?;
        let mut left = 0;
        for interval in 0..count {
            let step = self.number(Code::Gamma)?;
            left = if interval == 0 { self.relative(node, step)? } else { left + step + 1 };
            let length = self.number(Code::Gamma)?.saturating_add(least);
            if self.extra.len() as u64 + length > missing as u64 {
                return Err("intervals hold more links than there are");
            }
            if left + length > u64::from(self.properties.nodes) {
                return Err(OUTSIDE);
            }
            self.extra.extend(left as u32..(left + length) as u32);
            left += length;
        }
        Ok(())
    }

    fn residuals(&mut self, node: u32, count: usize) -> Read<()> {
        let mut at = 0;
        for residual in 0..count {
            let step = self.number(self.properties.residuals)?;
            at = if residual == 0 { self.relative(node, step)? } else { at + step + 1 };
            if at >= u64::from(self.properties.nodes) {
                return Err(OUTSIDE);
            }
            self.extra.push(at as u32);
        }
        Ok(())
    }

    /// A node at a signed distance from this one.
    fn relative(&self, node: u32, step: u64) -> Read<u64> {
        let at = i64::from(node).checked_add(whole(step)).ok_or(OUTSIDE)?;
        u64::try_from(at).ok().filter(|&at| at < u64::from(self.properties.nodes)).ok_or(OUTSIDE)
    }
}

/// Both parts in one ascending list.
fn merge(copied: &[u32], extra: &mut [u32], list: &mut Vec<u32>) -> Read<()> {
    list.clear();
    list.extend_from_slice(copied);
    if !extra.is_empty() {
        list.extend_from_slice(extra);
        list.sort_unstable();
    }
    let rises = list.is_sorted_by(|a, b| a < b);
    if rises { Ok(()) } else { Err("a list holds a link twice") }
}
