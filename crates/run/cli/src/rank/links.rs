//! Reads links: lines of two names, or a graph in WebGraph's format.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tidewatch_graph::{Csr, Graph, bv};

use crate::ids::Ids;
use crate::table_in::{is_stdin, open_input, shown};

/// Longest line, in bytes.
const LONGEST_LINE: u64 = 1 << 16;

/// A graph as read: its nodes and links.
pub(super) struct Web {
    names: Names,
    links: Links,
}

enum Names {
    /// Names from the file.
    Own(Ids),
    /// Numbers below this one.
    Numbers(u32),
}

enum Links {
    List(Vec<(u32, u32)>),
    Lists(Csr),
}

impl Web {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let graph = with_ending(path, "graph");
        if !is_stdin(path) && !path.is_file() && graph.is_file() {
            return Self::read_bv(path, &graph);
        }
        let (file, input) = open_input(path)?;
        Self::read_lines(&file, BufReader::new(input))
    }

    fn read_bv(path: &Path, graph: &Path) -> Result<Self> {
        let read = |path: &Path| {
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let properties = with_ending(path, "properties");
        let text = String::from_utf8_lossy(&read(&properties)?).into_owned();
        let properties = bv::Properties::parse(&text)
            .with_context(|| format!("cannot use {}", properties.display()))?;
        let lists = bv::read(&properties, &read(graph)?, bv::Limits::default())
            .with_context(|| format!("cannot use {}", graph.display()))?;
        Ok(Web { names: Names::Numbers(properties.nodes), links: Links::Lists(lists) })
    }

    fn read_lines(file: &str, mut input: impl BufRead) -> Result<Self> {
        let (mut names, mut links) = (Ids::default(), Vec::new());
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let read = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
            if read.with_context(|| format!("cannot read {file} at line {number}"))? == 0 {
                break;
            }
            if line.len() as u64 > LONGEST_LINE {
                bail!("{file}, line {number} is longer than 64 KiB; write two names a line");
            }
            let text = std::str::from_utf8(&line);
            let text = text.map_err(|_| anyhow!("{file}, line {number} is not UTF-8"))?;
            let mut words = text.split([' ', '\t', ',', '\r', '\n']).filter(|w| !w.is_empty());
            let Some(from) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let (Some(to), None) = (words.next(), words.next()) else {
                let line = shown(text.trim());
                bail!("{file}, line {number}: {line} is not a link; write 'src dst'");
            };
            links.push((names.add(from).0, names.add(to).0));
        }
        Ok(Web { names: Names::Own(names), links: Links::List(links) })
    }

    /// The node named `name`.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        match &self.names {
            Names::Own(ids) => ids.get(name),
            Names::Numbers(nodes) => name.parse().ok().filter(|node| node < nodes),
        }
    }

    /// The node named `name`, added if the file gives names; `None` if nodes are numbers and `name` is
    /// none of them.
    pub(super) fn admit(&mut self, name: &str) -> Option<u32> {
        match &mut self.names {
            Names::Own(ids) => Some(ids.add(name).0),
            Names::Numbers(nodes) => name.parse().ok().filter(|node| node < &*nodes),
        }
    }

    pub(super) fn name(&self, node: u32) -> Cow<'_, str> {
        match &self.names {
            Names::Own(ids) => Cow::Borrowed(ids.name(node)),
            Names::Numbers(_) => Cow::Owned(node.to_string()),
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        match &self.names {
            Names::Own(ids) => ids.len() as u32,
            Names::Numbers(nodes) => *nodes,
        }
    }

    /// One flag per node, set for `listed`.
    pub(super) fn flags(&self, listed: &[u32]) -> Vec<bool> {
        let mut flags = vec![false; self.nodes() as usize];
        listed.iter().for_each(|&node| flags[node as usize] = true);
        flags
    }

    /// Drops the links of flagged nodes; returns their number.
    pub(super) fn forget_links_of(&mut self, flags: &[bool]) -> u64 {
        if !flags.contains(&true) {
            return 0;
        }
        let list = match std::mem::replace(&mut self.links, Links::List(Vec::new())) {
            Links::List(list) => list,
            Links::Lists(lists) => (0..lists.len() as u32)
                .flat_map(|from| lists.of(from).iter().map(move |&to| (from, to)))
                .collect(),
        };
        let before = list.len();
        let kept: Vec<_> = list.into_iter().filter(|l| !flags[l.0 as usize]).collect();
        let dropped = (before - kept.len()) as u64;
        self.links = Links::List(kept);
        dropped
    }

    pub(super) fn graph(&mut self) -> Result<Graph> {
        let nodes = self.nodes();
        Ok(match std::mem::replace(&mut self.links, Links::List(Vec::new())) {
            Links::List(list) => Graph::from_links(nodes, &list)?,
            Links::Lists(lists) => Graph::from(lists),
        })
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
