//! The table `links`.

use super::Resolve;
use crate::arrange;
use crate::columns::links;
use crate::error::TraceError;
use crate::locate;
use crate::model::TraceLink;
use crate::rows::Rows;
use crate::rules;
use crate::table::TableFile;

pub(super) fn read_links(
    file: &TableFile,
    resolve: &Resolve<'_>,
) -> Result<Vec<TraceLink>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut read = Vec::new();
    while rows.advance()? {
        let link = TraceLink {
            source: resolve.page(&rows, links::SOURCE)?,
            page: resolve.page(&rows, links::PAGE)?,
            appears: rows.time(links::APPEARS)?,
            disappears: rows.maybe_time(links::DISAPPEARS)?,
            position: rows.maybe_count(links::POSITION)?,
        };
        rules::link(&link, resolve.pages).map_err(|problem| rows.refuse(problem))?;
        read.push(link);
    }
    arrange::links(&mut read);
    if let Some((first, second)) = rules::overlap(&read) {
        return Err(refuse_overlap(file, resolve, &read[first], &read[second]));
    }
    read.shrink_to_fit();
    Ok(read)
}

fn refuse_overlap(
    file: &TableFile,
    resolve: &Resolve<'_>,
    a: &TraceLink,
    b: &TraceLink,
) -> TraceError {
    let (source, page) = (resolve.id(b.source), resolve.id(b.page));
    let problem = rules::shown_twice(source, page, b.appears);
    locate::refuse(file, problem, |rows| {
        let ends = rows.id(links::SOURCE)? == source && rows.id(links::PAGE)? == page;
        Ok(ends && [a.appears, b.appears].contains(&rows.time(links::APPEARS)?))
    })
}
