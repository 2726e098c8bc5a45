//! Writes rows to a CSV file, plain or compressed; equal rows give equal bytes.

use std::fs::File;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tidewatch_core::Time;

use crate::sink::Sink;
use crate::table::{Format, Table};

const BUFFER: usize = 64 << 10;
const ZSTD_LEVEL: i32 = 3;
/// Takes less than half the time of the default 6 for 3 % more bytes, on the trace of the `speed`
/// example.
const GZIP_LEVEL: u32 = 3;
/// "Unknown" in RFC 1952, so that the bytes do not depend on the machine.
const GZIP_NO_SYSTEM: u8 = 255;

pub(crate) struct CsvSink {
    csv: csv::Writer<Encoder>,
    cell: Vec<u8>,
}

enum Encoder {
    Plain(File),
    Gz(GzEncoder<File>),
    Zst(zstd::Encoder<'static, File>),
}

impl CsvSink {
    /// Writes the header.
    pub(crate) fn new(file: File, table: Table, format: Format) -> io::Result<Self> {
        let encoder = match format {
            Format::CsvGz => {
                let builder = GzBuilder::new().mtime(0).operating_system(GZIP_NO_SYSTEM);
                Encoder::Gz(builder.write(file, Compression::new(GZIP_LEVEL)))
            }
            Format::CsvZst => {
                let mut encoder = zstd::Encoder::new(file, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zst(encoder)
            }
            Format::Csv | Format::Parquet => Encoder::Plain(file),
        };
        let mut csv = csv::WriterBuilder::new().buffer_capacity(BUFFER).from_writer(encoder);
        csv.write_record(table.columns().iter().map(|column| column.name))?;
        Ok(CsvSink { csv, cell: Vec::new() })
    }

    fn cell(&mut self, print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        self.cell.clear();
        print(&mut self.cell)?;
        Ok(self.csv.write_field(&self.cell)?)
    }
}

impl Sink for CsvSink {
    fn id(&mut self, id: u64) -> io::Result<()> {
        self.cell(|cell| write!(cell, "{id}"))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        Ok(self.csv.write_field(text)?)
    }

    fn time(&mut self, time: Time) -> io::Result<()> {
        self.cell(|cell| print_time(cell, time))
    }

    fn maybe_time(&mut self, time: Option<Time>) -> io::Result<()> {
        match time {
            Some(time) => self.time(time),
            None => self.text(""),
        }
    }

    fn maybe_whole(&mut self, number: Option<u64>) -> io::Result<()> {
        match number {
            Some(number) => self.id(number),
            None => self.text(""),
        }
    }

    fn number(&mut self, number: f64) -> io::Result<()> {
        self.cell(|cell| print_number(cell, number))
    }

    fn flag(&mut self, flag: bool) -> io::Result<()> {
        self.text(if flag { "1" } else { "0" })
    }

    fn end_row(&mut self) -> io::Result<()> {
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        match self.csv.into_inner().map_err(csv::IntoInnerError::into_error)? {
            Encoder::Plain(file) => Ok(file),
            Encoder::Gz(encoder) => encoder.finish(),
            Encoder::Zst(encoder) => encoder.finish(),
        }
    }
}

/// What [`Time`]'s `Display` prints, without its allocation.
fn print_time(cell: &mut Vec<u8>, time: Time) -> io::Result<()> {
    let (whole, mut part) = (time.as_micros() / 1_000_000, time.as_micros() % 1_000_000);
    write!(cell, "{whole}")?;
    if part == 0 {
        return Ok(());
    }
    let mut digits = 6;
    while part % 10 == 0 {
        part /= 10;
        digits -= 1;
    }
    write!(cell, ".{part:0digits$}")
}

/// The shortest text that reads back as the same number.
fn print_number(cell: &mut Vec<u8>, number: f64) -> io::Result<()> {
    /// Beyond this, further digits are zeros.
    const PLAIN: std::ops::Range<f64> = 1e-5..1e16;
    let number = number + 0.0; // −0 is written as 0
    if number.fract() == 0.0 && (0.0..PLAIN.end).contains(&number) {
        return write!(cell, "{}", number as u64);
    }
    if PLAIN.contains(&number) { write!(cell, "{number}") } else { write!(cell, "{number:e}") }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::Plain(file) => file.write(bytes),
            Encoder::Gz(encoder) => encoder.write(bytes),
            Encoder::Zst(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(file) => file.flush(),
            Encoder::Gz(encoder) => encoder.flush(),
            Encoder::Zst(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut cell = Vec::new();
        print(&mut cell).unwrap();
        String::from_utf8(cell).unwrap()
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (0.1, "0.1"),
            (1e-9, "1e-9"),
            (1e300, "1e300"),
            (9007199254740993.0, "9007199254740992"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        ];
        for (number, text) in cases {
            assert_eq!(printed(|cell| print_number(cell, number)), text);
        }
    }

    proptest! {
        #[test]
        fn times_print_as_the_core_prints_them(micros: u64) {
            let time = Time::from_micros(micros);
            prop_assert_eq!(printed(|cell| print_time(cell, time)), time.to_string());
        }

        #[test]
        fn numbers_read_back(bits: u64) {
            let number = f64::from_bits(bits).abs();
            prop_assume!(number.is_finite());
            let text = printed(|cell| print_number(cell, number));
            prop_assert_eq!(text.parse(), Ok(number));
        }
    }
}
