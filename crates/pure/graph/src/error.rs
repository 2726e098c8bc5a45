//! Errors of reading graphs and of walks.

/// A graph that cannot be read, or a walk that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A link names a node that does not exist.
    #[error("a link leads from node {from} to node {to}, but there are only {nodes} nodes")]
    NoSuchNode {
        /// Where it starts.
        from: u32,
        /// Where it leads.
        to: u32,
        /// How many nodes there are.
        nodes: u32,
    },
    /// A graph is larger than its reader allows.
    #[error("the graph has {found} {what}, more than the {most} allowed")]
    TooLarge {
        /// Links or nodes.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        most: u64,
    },
    /// A property is missing or no number.
    #[error("the properties have no usable '{key}': {problem}")]
    Property {
        /// Which.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The bit stream contradicts itself.
    #[error("the compressed graph is damaged at node {node}: {problem}")]
    Damaged {
        /// The node whose links are being read.
        node: u32,
        /// What is wrong.
        problem: &'static str,
    },
    /// A record of the link log is broken.
    #[error("the link log is damaged at byte {at}: {problem}")]
    Log {
        /// Where the record starts.
        at: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A number is outside its domain.
    #[error("{name} is {value}; give {wanted}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// What it was.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// Something that comes with a graph has the wrong length.
    #[error("there are {found} values of {what} for {nodes} nodes; give one a node")]
    Length {
        /// What it is.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many nodes.
        nodes: usize,
    },
}
