//! The table `truth`.

use super::Resolve;
use crate::arrange;
use crate::cell::shown;
use crate::columns::truth;
use crate::error::TraceError;
use crate::locate;
use crate::rows::Rows;
use crate::rules;
use crate::table::TableFile;
use crate::truth::{Truth, TruthClass};

pub(super) fn read_truth(
    file: &TableFile,
    resolve: &Resolve<'_>,
) -> Result<Vec<Truth>, TraceError> {
    let mut rows = Rows::open(file)?;
    let mut read = Vec::new();
    let declared_given = rows.has(truth::DECLARED);
    while rows.advance()? {
        let row = Truth {
            page: resolve.page(&rows, truth::PAGE)?,
            class: class(&rows)?,
            same_as: resolve.maybe_page(&rows, truth::SAME_AS)?,
            is_declared: declared_given && rows.flag(truth::DECLARED)?,
        };
        rules::truth(&row, resolve.pages).map_err(|problem| rows.refuse(problem))?;
        read.push(row);
    }
    arrange::truth(&mut read);
    rules::truths(&read, resolve.pages).map_err(|(i, problem)| {
        let id = resolve.id(read[i].page);
        locate::refuse(file, problem, |rows| Ok(rows.id(truth::PAGE)? == id))
    })?;
    read.shrink_to_fit();
    Ok(read)
}

fn class(rows: &Rows) -> Result<TruthClass, TraceError> {
    let name = rows.name(truth::CLASS, "what kind of page it is")?;
    TruthClass::named(name).ok_or_else(|| {
        let known: Vec<&str> = TruthClass::ALL.iter().map(|class| class.name()).collect();
        let text = format!("{} is not a class; choose from {}", shown(name), known.join(", "));
        rows.wrong(truth::CLASS, text)
    })
}
