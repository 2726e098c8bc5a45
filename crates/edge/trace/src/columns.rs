//! Positions of the columns in [`Table::columns`](crate::table::Table::columns),
//! so that code can say `rows.time(links::APPEARS)`.

pub(crate) mod pages {
    pub(crate) const PAGE: usize = 0;
    pub(crate) const URL: usize = 1;
    pub(crate) const HOST: usize = 2;
    pub(crate) const BORN: usize = 3;
    pub(crate) const DIED: usize = 4;
    pub(crate) const IS_SOURCE: usize = 5;
    pub(crate) const WEIGHT: usize = 6;
    pub(crate) const SEED: usize = 7;
}

pub(crate) mod hosts {
    pub(crate) const HOST: usize = 0;
    pub(crate) const MAX_RATE: usize = 1;
}

pub(crate) mod links {
    pub(crate) const SOURCE: usize = 0;
    pub(crate) const PAGE: usize = 1;
    pub(crate) const APPEARS: usize = 2;
    pub(crate) const DISAPPEARS: usize = 3;
    pub(crate) const POSITION: usize = 4;
}

pub(crate) mod truth {
    pub(crate) const PAGE: usize = 0;
    pub(crate) const CLASS: usize = 1;
    pub(crate) const SAME_AS: usize = 2;
    pub(crate) const DECLARED: usize = 3;
}

/// The tables of events: `page` and `at` come first in all of them.
pub(crate) mod events {
    pub(crate) const PAGE: usize = 0;
    pub(crate) const AT: usize = 1;
    pub(crate) const COUNT: usize = 2;
    pub(crate) const KIND: usize = 2;
    pub(crate) const ADDED: usize = 2;
    pub(crate) const REMOVED: usize = 3;
}
