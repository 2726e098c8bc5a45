//! Lists the records of a WARC file, and the damage between them: `inspect FILE`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::path::PathBuf;

use tidewatch_archive::{Piece, Walk};

fn main() -> Result<(), Box<dyn Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("usage: inspect FILE")?.into();
    for piece in Walk::new(&path, 0)? {
        match piece? {
            Piece::Record(record, range) => {
                let url = record.field("WARC-Target-URI").unwrap_or("-");
                println!("{:>10} {:<10} {url}", range.start, record.kind());
            }
            Piece::Damaged { range, what } => {
                println!(
                    "{:>10} damaged    {} bytes: {what}",
                    range.start,
                    range.end - range.start
                );
            }
        }
    }
    Ok(())
}
