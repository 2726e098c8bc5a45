//! Opening an archive: what a crash left half is cut, what is damaged is reported.

use std::fs::{self, OpenOptions};
use std::path::Path;

use crate::files::{Lengths, Manifest, index_path, last_number, length_of, path_of, sync_dir};
use crate::index::{Index, line_of, placed};
use crate::{Archive, ArchiveError, Damage, Findings, Piece, Walk};

impl Archive {
    /// Opens the archive in `dir`; its files are closed once they have `most_bytes`.
    /// `unix_micros` dates the file that is begun if there is none to go on with. `synced` is the
    /// [`Archive::end`] at the last sync: nothing before it is cut or needs to be read again.
    ///
    /// Also returns what was found amiss. A file that is missing or too short is left as it is and
    /// its number is not used again, so that no new record gets the place of a lost one.
    pub fn open(
        dir: &Path,
        most_bytes: u64,
        unix_micros: i64,
        synced: Option<(u32, u64)>,
    ) -> Result<(Archive, Findings), ArchiveError> {
        fs::create_dir_all(dir).map_err(ArchiveError::io(dir))?;
        dir.parent().filter(|parent| parent.is_dir()).map_or(Ok(()), sync_dir)?;
        let manifest = Manifest::read(dir)?;
        let mut opening = Opening { dir, synced, manifest, findings: Findings::default() };
        let last = last_of(dir, &opening.manifest, synced)?;
        for number in 1..last {
            opening.survey(number)?;
        }
        let next = if last == 0 { Next::Begin(1) } else { opening.recover(last)? };
        let Opening { manifest, mut findings, .. } = opening;
        manifest.write(dir)?;
        let archive = match next {
            Next::GoOn => Archive::go_on(dir, last, most_bytes, unix_micros, manifest)?,
            Next::Begin(number) => Archive::begin(dir, number, most_bytes, unix_micros, manifest)?,
        };
        findings.end = archive.end();
        Ok((archive, findings))
    }
}

/// With which file an archive goes on.
enum Next {
    /// With the last one.
    GoOn,
    /// With a new one of this number.
    Begin(u32),
}

/// How long a WARC file is, and how long it was when it was synced.
pub(crate) enum State {
    Missing,
    Short { length: u64, synced: u64 },
    Whole { length: u64, synced: u64 },
}

impl State {
    pub(crate) fn of(
        dir: &Path,
        number: u32,
        synced: Option<(u32, u64)>,
        manifest: &Manifest,
    ) -> Result<State, ArchiveError> {
        let mark = synced.filter(|(file, _)| *file == number).map_or(0, |(_, length)| length);
        let synced = manifest.get(number).unwrap_or_default().warc.max(mark);
        Ok(match length_of(&path_of(dir, number))? {
            None => State::Missing,
            Some(length) if length < synced => State::Short { length, synced },
            Some(length) => State::Whole { length, synced },
        })
    }

    pub(crate) const fn damage(&self, file: u32) -> Option<Damage> {
        match *self {
            State::Missing => Some(Damage::Missing { file }),
            State::Short { length, synced } => Some(Damage::Short { file, length, synced }),
            State::Whole { .. } => None,
        }
    }
}

/// The highest number that a file has or had; 0 if there never was one.
pub(crate) fn last_of(
    dir: &Path,
    manifest: &Manifest,
    synced: Option<(u32, u64)>,
) -> Result<u32, ArchiveError> {
    let last = last_number(dir)?.max(manifest.last()).max(synced.map(|(file, _)| file));
    Ok(last.unwrap_or(0))
}

struct Opening<'d> {
    dir: &'d Path,
    synced: Option<(u32, u64)>,
    manifest: Manifest,
    findings: Findings,
}

impl Opening<'_> {
    /// Compares a file that is closed with the manifest, by length only, and sees to its index.
    fn survey(&mut self, number: u32) -> Result<State, ArchiveError> {
        let state = State::of(self.dir, number, self.synced, &self.manifest)?;
        self.findings.damage.extend(state.damage(number));
        let path = path_of(self.dir, number);
        let known = self.manifest.get(number).unwrap_or_default();
        match state {
            State::Missing => {}
            State::Short { length, synced } => {
                let mut index = match Index::read(&path, known.index)? {
                    Some(index) => index,
                    None => self.reindex(number)?,
                };
                index.cut(length);
                let lengths = Lengths { warc: synced, index: index.write(&path)? };
                self.manifest.set(number, lengths);
            }
            State::Whole { length, .. } => {
                let index = length_of(&index_path(&path))?.filter(|index| *index >= known.index);
                let index = match index {
                    Some(length) => length,
                    None => self.reindex(number)?.write(&path)?,
                };
                self.manifest.set(number, Lengths { warc: length, index });
            }
        }
        Ok(state)
    }

    /// Cuts the unsynced tail of the last file to its last whole record, and completes its index.
    fn recover(&mut self, number: u32) -> Result<Next, ArchiveError> {
        let state = State::of(self.dir, number, self.synced, &self.manifest)?;
        let State::Whole { length, synced } = state else {
            self.survey(number)?;
            return Ok(Next::Begin(number + 1));
        };
        let path = path_of(self.dir, number);
        let known = self.manifest.get(number).unwrap_or_default();
        let read = Index::read(&path, known.index)?;
        let mut is_reindexed = read.is_none();
        let mut index = read.unwrap_or_default();
        // Lines about records that were not synced may be ahead of the records.
        index.cut(synced);
        let (mut end, mut damaged) = (index.end(), None);
        for piece in Walk::new(&path, end)? {
            match piece? {
                Piece::Damaged { range, what } => damaged = Some((range, what)),
                Piece::Record(record, range) => {
                    let damaged = damaged.take();
                    let damage = damaged.map(|(range, what)| Damage::Unreadable {
                        file: number,
                        range,
                        what,
                    });
                    self.findings.damage.extend(damage);
                    end = range.end;
                    if let Some(open) = line_of(&record) {
                        is_reindexed |= range.end <= synced;
                        let line = placed(&open, &path, range.start, range.end - range.start);
                        index.push(line, range.start, range.end);
                    }
                }
            }
        }
        if let Some((range, what)) = damaged.filter(|(range, _)| range.start < synced) {
            let range = range.start..synced;
            self.findings.damage.push(Damage::Unreadable { file: number, range, what });
        }
        let end = end.max(synced);
        self.findings.torn_bytes = length - end;
        let file = OpenOptions::new().write(true).open(&path).map_err(ArchiveError::io(&path))?;
        if end < length {
            file.set_len(end).map_err(ArchiveError::io(&path))?;
        }
        if end == 0 {
            return Ok(Next::Begin(number));
        }
        file.sync_all().map_err(ArchiveError::io(&path))?;
        self.findings.reindexed.extend(is_reindexed.then_some(number));
        self.manifest.set(number, Lengths { warc: end, index: index.write(&path)? });
        Ok(Next::GoOn)
    }

    fn reindex(&mut self, number: u32) -> Result<Index, ArchiveError> {
        self.findings.reindexed.push(number);
        reindex(&path_of(self.dir, number), number, &mut self.findings.damage)
    }
}

/// Makes the index of a WARC file from its records.
pub(crate) fn reindex(
    path: &Path,
    number: u32,
    damage: &mut Vec<Damage>,
) -> Result<Index, ArchiveError> {
    let mut index = Index::default();
    for piece in Walk::new(path, 0)? {
        match piece? {
            Piece::Damaged { range, what } => {
                damage.push(Damage::Unreadable { file: number, range, what });
            }
            Piece::Record(record, range) => {
                if let Some(open) = line_of(&record) {
                    let line = placed(&open, path, range.start, range.end - range.start);
                    index.push(line, range.start, range.end);
                }
            }
        }
    }
    Ok(index)
}
