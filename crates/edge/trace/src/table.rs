//! The tables of a trace, their columns and files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::TraceError;

/// A table of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Pages,
    Hosts,
    Links,
    Clicks,
    Views,
    Changes,
    Versions,
    Signals,
    Truth,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Id,
    Text,
    Time,
    MaybeTime,
    MaybeWhole,
    Number,
    Flag,
}

/// A column that the reader uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: true }
}

const fn optional(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: false }
}

const PAGE: Column = column("page", Kind::Id);
const AT: Column = column("at", Kind::Time);

impl Table {
    pub(crate) const ALL: [Table; 9] = [
        Table::Pages,
        Table::Hosts,
        Table::Links,
        Table::Clicks,
        Table::Views,
        Table::Changes,
        Table::Versions,
        Table::Signals,
        Table::Truth,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Pages => "pages",
            Table::Hosts => "hosts",
            Table::Links => "links",
            Table::Clicks => "clicks",
            Table::Views => "views",
            Table::Changes => "changes",
            Table::Versions => "versions",
            Table::Signals => "signals",
            Table::Truth => "truth",
        }
    }

    /// The columns, in the order in which they are written. [`crate::columns`]
    /// names their positions.
    pub(crate) const fn columns(self) -> &'static [Column] {
        match self {
            Table::Pages => {
                const {
                    &[
                        PAGE,
                        column("url", Kind::Text),
                        column("host", Kind::Text),
                        column("born", Kind::Time),
                        column("died", Kind::MaybeTime),
                        column("is_source", Kind::Flag),
                        optional("weight", Kind::Number),
                        optional("seed", Kind::Flag),
                    ]
                }
            }
            Table::Hosts => {
                const { &[column("host", Kind::Text), column("max_rate", Kind::Number)] }
            }
            Table::Links => {
                const {
                    &[
                        column("source", Kind::Id),
                        PAGE,
                        column("appears", Kind::Time),
                        column("disappears", Kind::MaybeTime),
                        optional("position", Kind::MaybeWhole),
                    ]
                }
            }
            Table::Clicks | Table::Views => const { &[PAGE, AT, column("count", Kind::Number)] },
            Table::Changes => const { &[PAGE, AT] },
            Table::Versions => {
                const { &[PAGE, AT, column("added", Kind::Text), column("removed", Kind::Text)] }
            }
            Table::Signals => const { &[PAGE, AT, column("kind", Kind::Text)] },
            Table::Truth => {
                const {
                    &[
                        PAGE,
                        column("class", Kind::Text),
                        column("same_as", Kind::MaybeWhole),
                        optional("declared", Kind::Flag),
                    ]
                }
            }
        }
    }

    /// The file of this table in `dir`, if there is one.
    pub(crate) fn find(self, dir: &Path) -> Result<Option<TableFile>, TraceError> {
        let mut found: Option<TableFile> = None;
        for format in Format::ALL {
            let path = dir.join(self.file_name(format));
            if !path.try_exists().map_err(TraceError::io("look for", &path))? {
                continue;
            }
            if let Some(other) = found {
                let problem = format!(
                    "the table '{}' is also in {}; keep one of the two files",
                    self.name(),
                    other.path.display()
                );
                return Err(TraceError::file(&path, problem));
            }
            found = Some(TableFile { table: self, path, format });
        }
        Ok(found)
    }

    pub(crate) fn file_name(self, format: Format) -> String {
        format!("{}.{format}", self.name())
    }

    /// Whether a file of this name belongs to a trace.
    pub(crate) fn owns(file_name: &str) -> bool {
        Table::ALL.iter().any(|t| Format::ALL.iter().any(|&f| t.file_name(f) == file_name))
    }
}

/// The file of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableFile {
    pub(crate) table: Table,
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
}

/// How the tables of a trace are stored. Its text form is the file extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with a header row.
    Csv,
    /// The same, compressed by gzip.
    CsvGz,
    /// The same, compressed by Zstandard.
    CsvZst,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Csv, Format::CsvGz, Format::CsvZst, Format::Parquet];

    /// File extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::CsvGz => "csv.gz",
            Format::CsvZst => "csv.zst",
            Format::Parquet => "parquet",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

/// An unknown format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a format of traces; choose csv, csv.gz, csv.zst or parquet")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let found = Format::ALL.into_iter().find(|f| f.extension() == text);
        found.ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}
