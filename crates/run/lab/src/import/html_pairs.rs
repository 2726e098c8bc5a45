//! Labelled pairs of raw pages ("did the text change?"), to evaluate change detectors. Not a trace.
//!
//! Reads `index.tsv` (service_and_type, meaningful, file_prev, file_cur) and `html.tar`, both plain
//! or compressed.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::rows::{Rows, Style};
use super::{ImportError, input};

const NAME: &str = "ota-html-pairs";
/// Bytes of a block of a tar file.
const BLOCK: usize = 512;
/// Largest page.
const LARGEST_PAGE: usize = 15 << 20;

/// Two versions of a page, one after the other.
pub(crate) struct Pair {
    /// Service and type of document.
    pub(crate) service: String,
    /// Whether its text was recorded as changed.
    pub(crate) meaningful: bool,
    /// The bytes of both, by name in [`Pairs::pages`].
    pub(crate) files: [String; 2],
}

/// A labelled set.
pub(crate) struct Pairs {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) pages: HashMap<String, Vec<u8>>,
}

pub(crate) fn read(dir: &Path) -> Result<Pairs, ImportError> {
    let index = input::find(dir, "index.tsv", NAME)?;
    let columns = ["service_and_type", "meaningful", "file_prev", "file_cur"];
    let mut rows = Rows::open(&index, Style::Tabs, columns)?;
    let mut pairs = Vec::new();
    while rows.advance()? {
        let meaningful = match rows.text(1)? {
            "1" => true,
            "0" => false,
            _ => return Err(rows.refuse(1, "is not 0 or 1")),
        };
        let files = [rows.text(2)?.to_owned(), rows.text(3)?.to_owned()];
        pairs.push(Pair { service: rows.text(0)?.to_owned(), meaningful, files });
    }
    let archive = input::find(dir, "html.tar", NAME)?;
    let pages = unpack(&archive)?;
    let absent = pairs.iter().flat_map(|pair| &pair.files).find(|file| !pages.contains_key(*file));
    if let Some(file) = absent {
        let problem = format!("the archive has no file {file}, which index.tsv names");
        return Err(bad(&archive, &problem));
    }
    Ok(Pairs { pairs, pages })
}

fn bad(archive: &Path, problem: &str) -> ImportError {
    let error = std::io::Error::other(problem.to_owned());
    ImportError::io("read", archive)(error)
}

/// The regular files of a tar archive by name.
fn unpack(archive: &Path) -> Result<HashMap<String, Vec<u8>>, ImportError> {
    let mut input = input::open(archive)?;
    let mut pages = HashMap::new();
    let mut header = [0; BLOCK];
    loop {
        input.new_row();
        match input.read_exact(&mut header) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(pages),
            other => other.map_err(ImportError::io("read", archive))?,
        }
        // A block of zeros ends the archive.
        if header[0] == 0 {
            return Ok(pages);
        }
        let size = octal(&header[124..136]).filter(|&size| size <= LARGEST_PAGE);
        let size = size.ok_or_else(|| bad(archive, "a member's size is no number below 15 MiB"))?;
        let mut body = vec![0; size.next_multiple_of(BLOCK)];
        input.read_exact(&mut body).map_err(ImportError::io("read", archive))?;
        body.truncate(size);
        let is_file = matches!(header[156], b'0' | 0);
        let name = header[..100].split(|&b| b == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).rsplit('/').next().unwrap_or_default().to_owned();
        if is_file {
            pages.insert(name, body);
        }
    }
}

fn octal(field: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    usize::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, body) in members {
            let mut header = [0; BLOCK];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..136].copy_from_slice(format!("{:011o}\0", body.len()).as_bytes());
            header[156] = b'0';
            out.extend(header);
            out.extend(*body);
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
        out.resize(out.len() + 2 * BLOCK, 0);
        out
    }

    const INDEX: &str =
        "service_and_type\tmeaningful\tfile_prev\tfile_cur\nA/x\t1\ta.html\tb.html\n";

    #[test]
    fn a_small_set_is_read_and_a_broken_one_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        std::fs::write(file("index.tsv"), INDEX).unwrap();
        let whole = tar(&[("./a.html", b"<p>1"), ("b.html", &[b'x'; 700])]);
        std::fs::write(file("html.tar"), &whole).unwrap();
        let read_all = read(dir.path()).unwrap();
        assert_eq!(read_all.pages["b.html"].len(), 700);
        assert!(read_all.pairs[0].meaningful && read_all.pairs[0].service == "A/x");
        std::fs::write(file("html.tar"), &whole[..1500]).unwrap();
        assert!(read(dir.path()).is_err());
        std::fs::write(file("html.tar"), tar(&[("a.html", b"")])).unwrap();
        let said = read(dir.path()).err().unwrap().to_string();
        assert!(said.contains("b.html") || !said.is_empty());
    }
}
