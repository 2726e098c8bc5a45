//! Progress for a person: a bar on a terminal, nothing anywhere else.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `steps` steps of `what`; hidden unless standard error is a terminal.
pub(crate) fn bar(steps: u64, what: &str) -> ProgressBar {
    let bar =
        if crate::output::is_watched() { ProgressBar::new(steps) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// A line that shows that work goes on, for work of unknown length.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let bar = bar(0, what);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar
}
