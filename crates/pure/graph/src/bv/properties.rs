//! The text beside the bits: `key=value` lines.

use crate::GraphError;

/// How numbers of one kind are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Unary,
    Gamma,
    Delta,
    Zeta(u32),
}

/// The `.properties` of a compressed graph: its size and its codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of links.
    pub arcs: u64,
    /// How many lists back a reference may lead.
    pub window: u32,
    /// Longest chain of references.
    pub most_references: u32,
    /// Shortest run of neighbours written as an interval; 0 = none are.
    pub least_interval: u32,
    pub(super) outdegrees: Code,
    pub(super) blocks: Code,
    pub(super) block_counts: Code,
    pub(super) residuals: Code,
    pub(super) references: Code,
}

impl Properties {
    /// The defaults of the WebGraph tools.
    pub(super) const fn usual(nodes: u32, arcs: u64) -> Self {
        Properties {
            nodes,
            arcs,
            window: 7,
            most_references: 3,
            least_interval: 4,
            outdegrees: Code::Gamma,
            blocks: Code::Gamma,
            block_counts: Code::Gamma,
            residuals: Code::Zeta(3),
            references: Code::Unary,
        }
    }

    /// Reads the text of a `.properties` file.
    pub fn parse(text: &str) -> Result<Self, GraphError> {
        let get = |key: &str| {
            let lines = text.lines().filter_map(|line| line.trim().split_once('='));
            lines.filter(|(k, _)| k.trim() == key).map(|(_, value)| value.trim()).next_back()
        };
        let number = |key: &'static str, or: Option<u64>, most: u64| {
            let Some(value) = get(key) else {
                let missing = || GraphError::Property { key, problem: "it is missing".to_owned() };
                return or.ok_or_else(missing);
            };
            let bad = |problem| GraphError::Property { key, problem };
            let number: u64 = value
                .parse()
                .map_err(|_| bad(format!("'{}' is no number", value.escape_debug())))?;
            if number > most {
                return Err(bad(format!("{number} is above {most}")));
            }
            Ok(number)
        };
        let class = get("graphclass").unwrap_or("BVGraph");
        if !class.ends_with("BVGraph") {
            let problem = format!("'{}' is another format", class.escape_debug());
            return Err(GraphError::Property { key: "graphclass", problem });
        }
        let nodes = number("nodes", None, u64::from(u32::MAX) - 1)? as u32;
        let mut properties = Properties::usual(nodes, number("arcs", None, 1 << 48)?);
        number("version", Some(0), 0)?;
        properties.window = number("windowsize", Some(7), 1 << 10)? as u32;
        properties.most_references = number("maxrefcount", Some(3), u64::from(u32::MAX))? as u32;
        properties.least_interval = number("minintervallength", Some(4), 1 << 20)? as u32;
        let k = number("zetak", Some(3), 16)?.max(1) as u32;
        properties.residuals = Code::Zeta(k);
        for flag in get("compressionflags").unwrap_or_default().split('|') {
            properties.set(flag.trim(), k)?;
        }
        Ok(properties)
    }

    fn set(&mut self, flag: &str, k: u32) -> Result<(), GraphError> {
        if flag.is_empty() {
            return Ok(());
        }
        let unknown = || {
            let problem = format!("'{}' is not supported", flag.escape_debug());
            GraphError::Property { key: "compressionflags", problem }
        };
        let (place, code) = flag.rsplit_once('_').ok_or_else(unknown)?;
        let code = match code {
            "UNARY" => Code::Unary,
            "GAMMA" => Code::Gamma,
            "DELTA" => Code::Delta,
            "ZETA" => Code::Zeta(k),
            _ => return Err(unknown()),
        };
        *match place {
            "OUTDEGREES" => &mut self.outdegrees,
            "BLOCKS" => &mut self.blocks,
            "BLOCK_COUNT" => &mut self.block_counts,
            "RESIDUALS" => &mut self.residuals,
            "REFERENCES" => &mut self.references,
            _ => return Err(unknown()),
        } = code;
        Ok(())
    }

    /// The text for other tools.
    pub(super) fn text(&self, bits: u64) -> String {
        let per = |n: u64| bits as f64 / n.max(1) as f64;
        format!(
            "#BVGraph properties\nversion=0\ngraphclass=it.unimi.dsi.webgraph.BVGraph\n\
             nodes={}\narcs={}\nwindowsize={}\nmaxrefcount={}\nminintervallength={}\nzetak=3\n\
             compressionflags=\nbitsperlink={:.3}\nbitspernode={:.3}\n",
            self.nodes,
            self.arcs,
            self.window,
            self.most_references,
            self.least_interval,
            per(self.arcs),
            per(u64::from(self.nodes)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_codes_and_nonsense_is_refused() {
        let text = "nodes=3\narcs=2\ncompressionflags=OUTDEGREES_DELTA | RESIDUALS_GAMMA\n";
        let properties = Properties::parse(text).unwrap();
        assert_eq!((properties.outdegrees, properties.residuals), (Code::Delta, Code::Gamma));
        let refused = |text: &str| Properties::parse(text).unwrap_err().to_string();
        assert_eq!(refused("arcs=1"), "the properties have no usable 'nodes': it is missing");
        assert!(refused("nodes=x\narcs=1").contains("'x' is no number"));
        assert!(refused("nodes=1\narcs=1\ngraphclass=EFGraph").contains("another format"));
        assert!(refused("nodes=1\narcs=1\ncompressionflags=A_NIBBLE").contains("not supported"));
    }
}
