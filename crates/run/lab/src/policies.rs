//! Every policy that the lab can run, by name: the crawler's own and the oracles.

use tidewatch_policy::{Policy, registry};
use tidewatch_science::allocate::Objective;

use crate::oracle::{Knowledge, KnownLongevity, Omniscient, SeenLongevity, known_rates};
use crate::{LabError, World};

/// A policy to be run in the lab.
#[derive(Clone, Copy)]
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// What a crawler could run.
    Policy(fn(u64) -> Box<dyn Policy>),
    /// May look at the truth, and knows every page from its birth.
    Oracle(for<'w> fn(&'w World) -> Box<dyn Policy + 'w>),
}

/// Oracles, which live in the lab alone.
const ORACLES: &[Contestant] = &[
    Contestant {
        name: "omniscient",
        about: "oracle: knows every page and the future; spends each fetch where it gains most",
        kind: Kind::Oracle(|world| Box::new(Omniscient::new(world))),
    },
    Contestant {
        name: "cgm-oracle",
        about: "oracle: cgm, told how often each page changes",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Freshness))),
    },
    Contestant {
        name: "age-oracle",
        about: "oracle: age, told how often each page changes",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Age))),
    },
    Contestant {
        name: "harmonic-oracle",
        about: "oracle: harmonic, told how often each page changes",
        kind: Kind::Oracle(|world| Box::new(known_rates(world, Objective::Harmonic))),
    },
    Contestant {
        name: "uniform-changing",
        about: "oracle: every page that ever changes, equally often",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Changing))),
    },
    Contestant {
        name: "hs-s",
        about: "oracle: best periods for whether copies are stale, told how often pages change",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Rates))),
    },
    Contestant {
        name: "fs-s",
        about: "oracle: best periods for how much of copies is stale, told how pages diverge",
        kind: Kind::Oracle(|world| Box::new(KnownLongevity::new(world, Knowledge::Divergence))),
    },
    Contestant {
        name: "hs-d",
        about: "oracle: sees which copies are stale, and refreshes what stayed fresh longest",
        kind: Kind::Oracle(|world| Box::new(SeenLongevity::new(world, true))),
    },
    Contestant {
        name: "fs-d",
        about: "oracle: sees how much of each copy is stale, and refreshes where that is worth most",
        kind: Kind::Oracle(|world| Box::new(SeenLongevity::new(world, false))),
    },
];

impl Contestant {
    /// Makes one for a run over `world`.
    pub fn make<'w>(&self, world: &'w World, seed: u64) -> Box<dyn Policy + 'w> {
        match self.kind {
            Kind::Policy(make) => make(seed),
            Kind::Oracle(make) => make(world),
        }
    }

    /// Whether it knows what no crawler can.
    pub const fn is_oracle(&self) -> bool {
        matches!(self.kind, Kind::Oracle(_))
    }
}

/// Every policy, the crawler's own first.
pub fn all() -> impl Iterator<Item = Contestant> {
    let own = registry::POLICIES.iter().map(|entry| Contestant {
        name: entry.name,
        about: entry.about,
        kind: Kind::Policy(entry.make),
    });
    own.chain(ORACLES.iter().copied())
}

/// A crawler's own policy of that name, made from a seed.
pub fn own(name: &str, seed: u64) -> Result<Box<dyn Policy>, LabError> {
    match find(name)?.kind {
        Kind::Policy(make) => Ok(make(seed)),
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
