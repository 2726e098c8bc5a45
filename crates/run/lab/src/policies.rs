//! Every policy that the lab can run, by name: the crawler's policies and the oracles.

use tidewatch_policy::{Policy, Setup, registry};
use tidewatch_science::allocate::Objective;

use crate::oracle::{Knowledge, KnownLongevity, Omniscient, SeenLongevity, known_rates};
use crate::{LabError, World};

/// A policy that the lab can run.
#[derive(Clone, Copy)]
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A policy of the crawler.
    Policy(fn(Setup) -> Box<dyn Policy>),
    /// Sees the truth, and knows every page from its birth.
    Oracle(for<'w> fn(&'w World) -> Box<dyn Policy + 'w>),
}

/// The oracles.
const ORACLES: &[Contestant] = &[
    Contestant {
        name: "omniscient",
        about: "oracle: knows every page and the future; fetches where it gains most",
        kind: Kind::Oracle(|world| Box::new(Omniscient::new(world))),
    },
    Contestant {
        name: "cgm-oracle",
        about: "oracle: cgm with true change rates",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Freshness))),
    },
    Contestant {
        name: "age-oracle",
        about: "oracle: age with true change rates",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Age))),
    },
    Contestant {
        name: "harmonic-oracle",
        about: "oracle: harmonic with true change rates",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Harmonic))),
    },
    Contestant {
        name: "uniform-changing",
        about: "oracle: refreshes all changing pages equally often",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Changing))),
    },
    Contestant {
        name: "hs-s",
        about: "oracle: periods that minimise holistic staleness, from true change rates",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Rates))),
    },
    Contestant {
        name: "fs-s",
        about: "oracle: periods that minimise fragment staleness, from true divergence",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Divergence))),
    },
    Contestant {
        name: "hs-d",
        about: "oracle: sees which copies are stale, and refreshes those that stayed fresh longest",
        kind: Kind::Oracle(|world| Box::new(SeenLongevity::new(world, true))),
    },
    Contestant {
        name: "fs-d",
        about: "oracle: sees the staleness of every copy, and refreshes where it gains most",
        kind: Kind::Oracle(|world| Box::new(SeenLongevity::new(world, false))),
    },
];

impl Contestant {
    /// Creates the policy for a run over `world`.
    pub fn make<'w>(&self, world: &'w World, seed: u64) -> Box<dyn Policy + 'w> {
        match self.kind {
            Kind::Policy(make) => make(Setup::seeded(seed)),
            Kind::Oracle(make) => make(world),
        }
    }

    /// Whether it is an oracle.
    pub const fn is_oracle(&self) -> bool {
        matches!(self.kind, Kind::Oracle(_))
    }
}

/// Every policy, oracles last.
pub fn all() -> impl Iterator<Item = Contestant> {
    let own = registry::POLICIES.iter().map(|entry| Contestant {
        name: entry.name,
        about: entry.about,
        kind: Kind::Policy(entry.make),
    });
    own.chain(ORACLES.iter().copied())
}

/// The crawler's policy of that name.
pub fn own(name: &str, seed: u64) -> Result<Box<dyn Policy>, LabError> {
    match find(name)?.kind {
        Kind::Policy(make) => Ok(make(Setup::seeded(seed))),
        Kind::Oracle(_) => Err(LabError::UnknownPolicy {
            name: name.to_owned(),
            known: registry::POLICIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The policy of that name; the error names the nearest and lists them all.
pub fn find(name: &str) -> Result<Contestant, LabError> {
    all().find(|contestant| contestant.name == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|c| c.name).collect();
        LabError::UnknownPolicy { name: name.to_owned(), known: names.join(", ") }
    })
}
