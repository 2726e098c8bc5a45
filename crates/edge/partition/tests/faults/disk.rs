//! A disk that loses power: from the log of a crawl's changes (`faults.c`), the states that a cut leaves.
//!
//! Synced content is there; of later writes to a file any may be missing, and one torn. For names see
//! [`Names`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A torn write ends at a multiple of this.
const SECTOR: usize = 512;

/// What a file system promises about names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names {
    /// As on ext4: they change in order, and every sync makes all of them durable.
    Ordered,
    /// As in POSIX: a name is durable once its directory was synced. Of the changes since, any may be
    /// missing.
    Strict,
}

/// A change to a file or a name.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create(PathBuf),
    Write(PathBuf, usize, Vec<u8>),
    Length(PathBuf, usize),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Unlink(PathBuf),
    MakeDir(PathBuf),
    RemoveDir(PathBuf),
    Output(String),
}

/// Reads the log of the library; paths are below `dir`.
pub(crate) fn read_log(log: &[u8], dir: &Path) -> Vec<Change> {
    let (mut at, mut changes) = (0, Vec::new());
    while at < log.len() {
        let long =
            |from: usize| u32::from_le_bytes(log[from..from + 4].try_into().unwrap()) as usize;
        let lengths = [long(at + 1), long(at + 5), long(at + 9)];
        let offset = u64::from_le_bytes(log[at + 13..at + 21].try_into().unwrap()) as usize;
        let (kind, mut from) = (log[at], at + 21);
        let [path, second, data] = lengths.map(|length| {
            from += length;
            log[from - length..from].to_vec()
        });
        at = from;
        let below = |path: Vec<u8>| {
            let path = PathBuf::from(String::from_utf8(path).unwrap());
            path.strip_prefix(dir).map(Path::to_owned).unwrap_or_default()
        };
        let path = below(path);
        changes.push(match kind {
            b'C' => Change::Create(path),
            b'W' => Change::Write(path, offset, data),
            b'L' => Change::Length(path, offset),
            b'S' => Change::Sync(path),
            b'R' => Change::Rename(path, below(second)),
            b'U' => Change::Unlink(path),
            b'D' => Change::MakeDir(path),
            b'X' => Change::RemoveDir(path),
            _ => Change::Output(String::from_utf8_lossy(&data).into_owned()),
        });
    }
    changes
}

/// A file or a directory.
#[derive(Clone, Debug)]
enum Node {
    File(File),
    /// Its names as programs see them, and as they are on the disk.
    Dir {
        names: BTreeMap<OsString, usize>,
        synced: BTreeMap<OsString, usize>,
    },
}

impl Node {
    fn dir() -> Node {
        Node::Dir { names: BTreeMap::new(), synced: BTreeMap::new() }
    }
}

/// A file: what is synced, and what was done to it since.
#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    later: Vec<(usize, Option<Vec<u8>>)>,
}

/// Does one write, or sets the length.
fn change(content: &mut Vec<u8>, (at, data): &(usize, Option<Vec<u8>>)) {
    match data {
        None => content.resize(*at, 0),
        Some(data) => {
            content.resize(content.len().max(at + data.len()), 0);
            content[*at..at + data.len()].copy_from_slice(data);
        }
    }
}

/// A change of names that is made as one: what names in directories stand for from now on. It is durable
/// once directory `dir` was synced.
#[derive(Clone, Debug)]
struct Renaming {
    dir: usize,
    names: Vec<(usize, OsString, Option<usize>)>,
}

/// A disk, as programs see it and as it is. The first node is the directory of all.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    kind: Names,
    nodes: Vec<Node>,
    /// Changes of names that are not durable yet.
    later: Vec<Renaming>,
    pub(crate) output: String,
}

impl Disk {
    /// The disk after some changes.
    pub(crate) fn after(changes: &[Change], kind: Names) -> Disk {
        let (nodes, later, output) = (vec![Node::dir()], Vec::new(), String::new());
        let mut disk = Disk { kind, nodes, later, output };
        changes.iter().for_each(|made| disk.apply(made));
        disk
    }

    /// What a path stands for.
    fn find(&self, path: &Path) -> Option<usize> {
        path.iter().try_fold(0, |dir, name| match &self.nodes[dir] {
            Node::Dir { names, .. } => names.get(name).copied(),
            Node::File(_) => None,
        })
    }

    fn parent_of(&self, path: &Path) -> (usize, OsString) {
        let dir = self.find(path.parent().unwrap()).unwrap();
        (dir, path.file_name().unwrap().to_owned())
    }

    fn apply(&mut self, made: &Change) {
        match made {
            Change::Write(path, at, data) => self.later_of(path, (*at, Some(data.clone()))),
            Change::Length(path, length) => self.later_of(path, (*length, None)),
            Change::Output(text) => self.output += text,
            Change::Sync(path) => self.sync(path),
            Change::Create(path) => self.make(path, Node::File(File::default())),
            Change::MakeDir(path) => self.make(path, Node::dir()),
            Change::Unlink(path) | Change::RemoveDir(path) => {
                let (dir, name) = self.parent_of(path);
                self.rename(Renaming { dir, names: vec![(dir, name, None)] });
            }
            Change::Rename(from, to) => {
                let ((from_dir, from), id) = (self.parent_of(from), self.find(from));
                let (dir, to) = self.parent_of(to);
                self.rename(Renaming { dir, names: vec![(from_dir, from, None), (dir, to, id)] });
            }
        }
    }

    fn make(&mut self, path: &Path, node: Node) {
        let ((dir, name), id) = (self.parent_of(path), self.nodes.len());
        self.nodes.push(node);
        self.rename(Renaming { dir, names: vec![(dir, name, Some(id))] });
    }

    fn rename(&mut self, renaming: Renaming) {
        for (dir, name, id) in &renaming.names {
            if let Node::Dir { names, .. } = &mut self.nodes[*dir] {
                name_as(names, name, *id);
            }
        }
        self.later.push(renaming);
    }

    fn sync(&mut self, path: &Path) {
        // A file may be written and synced after its name is gone.
        let Some(id) = self.find(path) else { return };
        if let Node::File(file) = &mut self.nodes[id] {
            let later = std::mem::take(&mut file.later);
            later.iter().for_each(|made| change(&mut file.synced, made));
        }
        let later = std::mem::take(&mut self.later);
        for renaming in later {
            match self.kind {
                Names::Strict if renaming.dir != id => self.later.push(renaming),
                _ => self.keep(&renaming),
            }
        }
    }

    /// Brings a change of names to the disk.
    fn keep(&mut self, renaming: &Renaming) {
        for (dir, name, id) in &renaming.names {
            if let Node::Dir { synced, .. } = &mut self.nodes[*dir] {
                name_as(synced, name, *id);
            }
        }
    }

    fn later_of(&mut self, path: &Path, made: (usize, Option<Vec<u8>>)) {
        if let Some(Node::File(file)) = self.find(path).map(|id| &mut self.nodes[id]) {
            file.later.push(made);
        }
    }

    /// Writes a state that a cut may leave now; with no dice everything reached the disk.
    pub(crate) fn write(mut self, dir: &Path, mut dice: Option<&mut Dice>) {
        let later = std::mem::take(&mut self.later);
        let chosen = match (self.kind, dice.as_mut()) {
            (_, None) => vec![true; later.len()],
            (Names::Ordered, Some(dice)) => dice.some_first(later.len()),
            (Names::Strict, Some(dice)) => dice.some(later.len()),
        };
        for (renaming, is_there) in later.iter().zip(chosen) {
            if is_there {
                self.keep(renaming);
            }
        }
        self.write_node(0, dir, &mut dice);
    }

    fn write_node(&self, id: usize, path: &Path, dice: &mut Option<&mut Dice>) {
        match &self.nodes[id] {
            Node::Dir { synced, .. } => {
                fs::create_dir(path).unwrap();
                for (name, id) in synced {
                    self.write_node(*id, &path.join(name), dice);
                }
            }
            Node::File(file) => write_sparse(path, &file.left(dice)),
        }
    }
}

fn name_as(names: &mut BTreeMap<OsString, usize>, name: &OsString, id: Option<usize>) {
    match id {
        Some(id) => names.insert(name.clone(), id),
        None => names.remove(name),
    };
}

impl File {
    /// What a cut may leave of it.
    fn left(&self, dice: &mut Option<&mut Dice>) -> Vec<u8> {
        let mut content = self.synced.clone();
        let chosen = dice.as_mut().map(|dice| dice.some(self.later.len()));
        let chosen = chosen.unwrap_or_else(|| vec![true; self.later.len()]);
        let torn = chosen.iter().position(|is_there| !is_there);
        for (number, (made, is_there)) in self.later.iter().zip(chosen).enumerate() {
            match (made, dice.as_mut()) {
                (made, _) if is_there => change(&mut content, made),
                ((at, Some(data)), Some(dice)) if torn == Some(number) => {
                    let sectors = dice.below(data.len() / SECTOR + 1);
                    change(&mut content, &(*at, Some(data[..sectors * SECTOR].to_vec())));
                }
                _ => {}
            }
        }
        content
    }
}

/// Writes a file without the zeros at its end: the journals of the tables are long and empty.
pub(crate) fn write_sparse(path: &Path, content: &[u8]) {
    let end = content.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut file = fs::File::create(path).unwrap();
    file.write_all(&content[..end]).unwrap();
    file.set_len(content.len() as u64).unwrap();
}

/// Numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    /// Which of so many changes reached the disk: all, none, the first ones, or any.
    fn some(&mut self, count: usize) -> Vec<bool> {
        match self.below(4) {
            0 => vec![true; count],
            1 => vec![false; count],
            2 => self.some_first(count),
            _ => (0..count).map(|_| self.below(2) == 0).collect(),
        }
    }

    fn some_first(&mut self, count: usize) -> Vec<bool> {
        let first = self.below(count + 1);
        (0..count).map(|number| number < first).collect()
    }
}
