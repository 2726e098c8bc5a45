//! Finds the lines of rows that break a rule between rows.
//!
//! Such rules are checked on sorted tables, which do not know line numbers. Keeping the line of every
//! row would cost memory for every valid trace; so an invalid file is read a second time.

use crate::error::{At, TraceError};
use crate::rows::Rows;
use crate::rules::Problem;
use crate::table::TableFile;

/// The error for a problem with the last row that `matches`; also names the first if there are
/// several.
pub(crate) fn refuse(
    file: &TableFile,
    problem: Problem,
    matches: impl Fn(&Rows) -> Result<bool, TraceError>,
) -> TraceError {
    let mut rows = match Rows::open(file) {
        Ok(rows) => rows,
        Err(error) => return error,
    };
    match find(&mut rows, matches) {
        Ok((first, last)) => rows.refuse_at(last, naming(problem, first, last)),
        Err(error) => error,
    }
}

fn naming(problem: Problem, first: At, last: At) -> Problem {
    if first == last {
        return problem;
    }
    Problem { text: format!("{} (the other is {first})", problem.text), ..problem }
}

fn find(
    rows: &mut Rows,
    matches: impl Fn(&Rows) -> Result<bool, TraceError>,
) -> Result<(At, At), TraceError> {
    let mut found: Option<(At, At)> = None;
    while rows.advance()? {
        if matches(rows)? {
            let at = rows.at();
            found = Some((found.map_or(at, |(first, _)| first), at));
        }
    }
    Ok(found.unwrap_or((At::Whole, At::Whole)))
}
