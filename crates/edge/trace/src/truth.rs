//! What a page really is: the answers by which detectors of waste are judged.

use std::fmt;

/// The truth about one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The page.
    pub page: u32,
    /// Its kind.
    pub class: TruthClass,
    /// The page whose content it repeats at any time. That page repeats no other.
    pub same_as: Option<u32>,
    /// Whether it names that page as its canonical one.
    pub is_declared: bool,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// Whether a page has content of its own, and if not, why.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TruthClass {
            $($(#[$doc])* $class,)*
        }

        impl TruthClass {
            /// Every class.
            pub const ALL: &[TruthClass] = &[$(TruthClass::$class,)*];

            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(TruthClass::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Content of its own.
    Own = "own",
    /// Another address of a page: a parameter, another case, an index file.
    Alias = "alias",
    /// An address with another title in it.
    Renamed = "renamed",
    /// An address with a session's number.
    Session = "session",
    /// A copy on another host.
    Mirror = "mirror",
    /// A list filtered or sorted in another way.
    Facet = "facet",
    /// An empty day of an endless calendar.
    Calendar = "calendar",
    /// Babble that links to more babble.
    Maze = "maze",
    /// A host without content that waits for a buyer.
    Parked = "parked",
    /// A page that exists for its links and keywords.
    Farm = "farm",
    /// An error page with status 200.
    Missing = "missing",
}

impl TruthClass {
    /// The class of that name.
    pub fn named(name: &str) -> Option<TruthClass> {
        TruthClass::ALL.iter().copied().find(|class| class.name() == name)
    }

    /// Whether such a page repeats another one by definition.
    pub const fn repeats(self) -> bool {
        use TruthClass::{Alias, Mirror, Renamed, Session};
        matches!(self, Alias | Renamed | Session | Mirror)
    }
}

impl fmt::Display for TruthClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
