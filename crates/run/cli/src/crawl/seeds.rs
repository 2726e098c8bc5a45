//! Seeds from the command line.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tidewatch_core::url::CanonicalUrl;

/// Reads seeds: URLs, or files with one URL a line (`#` starts a comment).
pub(super) fn read(seeds: &[String]) -> Result<Vec<CanonicalUrl>> {
    let mut urls = Vec::new();
    for seed in seeds {
        match CanonicalUrl::parse(seed) {
            Ok(url) => urls.push(url),
            Err(_) if Path::new(seed).is_file() => urls.extend(read_file(Path::new(seed))?),
            Err(refused) => bail!("the seed {seed} is neither a file nor a valid URL: {refused}"),
        }
    }
    Ok(urls)
}

fn read_file(path: &Path) -> Result<Vec<CanonicalUrl>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the seeds in {}", path.display()))?;
    let mut urls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let url = CanonicalUrl::parse(line);
        urls.push(url.with_context(|| format!("{}, line {}", path.display(), number + 1))?);
    }
    Ok(urls)
}
