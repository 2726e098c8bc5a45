//! The disk of a simulated crawl: real files with the library `faults.c` between.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::disk::{Dice, Disk, Names, read_log};

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// EIO, once.
    Broken,
    /// ENOSPC, until there is room.
    Full,
    /// Everything from now on: the process is dead.
    Dead,
}

/// Orders for the library.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    control: PathBuf,
    log: PathBuf,
    /// The directory that the library watches.
    root: PathBuf,
}

impl Layer {
    /// The library that this process was started with.
    pub(super) fn of_env() -> Layer {
        let path = |name| PathBuf::from(std::env::var_os(name).unwrap());
        Layer { control: path("FAULT_CONTROL"), log: path("FAULT_LOG"), root: path("FAULT_DIR") }
    }

    /// The directory of a crawl's n-th life.
    pub(super) fn dir(&self, life: u64) -> PathBuf {
        self.root.join(format!("crawl-{life}"))
    }

    fn order(&self, order: &str) {
        fs::write(&self.control, order).unwrap();
    }

    /// The `number`-th change from now fails.
    pub(super) fn fail(&self, number: u64, fault: Fault) {
        let (errno, mode) = match fault {
            Fault::Broken => (5, 0),
            Fault::Full => (28, 1),
            Fault::Dead => (5, 2),
        };
        self.order(&format!("fail {number} {errno} {mode}"));
    }

    /// Nothing fails any more.
    pub(super) fn work(&self) {
        self.order("work");
    }

    /// Syncs do not reach the disk, and say that they do.
    pub(super) fn lie(&self, lies: bool) {
        self.order(if lies { "lie 1" } else { "lie 0" });
    }

    /// A new disk, whose changes are logged if power may fail.
    pub(super) fn clear(&self, is_logged: bool) {
        self.work();
        self.order("log 0");
        if self.root.exists() {
            fs::remove_dir_all(&self.root).unwrap();
        }
        fs::create_dir(&self.root).unwrap();
        File::create(&self.log).unwrap();
        self.order(if is_logged { "log 1" } else { "log 0" });
    }

    /// Power fails: makes one of the states that a crawl may then be in, in the directory of its next life.
    pub(super) fn cut(&self, life: u64, dice: &mut Dice) {
        let changes = read_log(&fs::read(&self.log).unwrap(), &self.root);
        self.order("log 0");
        let kind = [Names::Ordered, Names::Strict][dice.below(2)];
        let left = self.root.with_extension("left");
        Disk::after(&changes, kind).write(&left, Some(dice));
        File::create(&self.log).unwrap();
        fs::remove_dir_all(&self.root).unwrap();
        fs::create_dir(&self.root).unwrap();
        self.order("log 1");
        let name = format!("crawl-{life}");
        let next = self.dir(life + 1);
        fs::create_dir(&next).unwrap();
        if left.join(&name).exists() {
            copy_synced(&left.join(&name), &next);
        }
        File::open(&self.root).unwrap().sync_all().unwrap();
        fs::remove_dir_all(&left).unwrap();
    }
}

/// Copies files without the zeros at their ends, and syncs them.
fn copy_synced(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&copy).unwrap();
            copy_synced(&path, &copy);
        } else {
            crate::disk::write_sparse(&copy, &fs::read(&path).unwrap());
            File::options().write(true).open(&copy).unwrap().sync_all().unwrap();
        }
    }
    File::open(to).unwrap().sync_all().unwrap();
}
