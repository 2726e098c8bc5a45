use super::*;

/// What a run said, for an assertion: one line with which to run it again.
fn told(settings: &Settings, seed: u64, outcome: &Outcome) -> Option<String> {
    let broken = outcome.broken.first()?;
    let (nodes, hours) = (settings.nodes, settings.duration.seconds() / 3600.0);
    Some(format!(
        "{broken}\nagain: tidewatch lab cluster --nodes {nodes} --hours {hours} --seeds {seed}..{}",
        seed + 1
    ))
}

/// `TIDEWATCH_CLUSTER=nodes,hours,first,end` runs more than the few that fit into seconds.
#[test]
fn a_cluster_keeps_its_promises_whatever_fails() {
    let asked = std::env::var("TIDEWATCH_CLUSTER").unwrap_or_else(|_| "4,1,1,4".into());
    let numbers: Vec<f64> = asked.split(',').filter_map(|number| number.parse().ok()).collect();
    let [nodes, hours, first, end] = numbers[..] else { panic!("{asked}: four numbers") };
    let duration = Span::from_seconds(hours * 3600.0).expect("a duration");
    let settings = Settings::new(nodes as usize, duration);
    let mut failed = Vec::new();
    for seed in first as u64..end as u64 {
        let outcome = run(settings, seed, None);
        if let Some(told) = told(&settings, seed, &outcome) {
            println!("{told}");
            failed.push(seed);
        }
        println!("seed {seed}: {:?}", outcome.figures);
    }
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
}

/// A cluster of four for an hour.
fn usual() -> Settings {
    Settings::new(4, Span::HOUR)
}

/// The same with a fault a minute, of the given kinds, and with enough to fetch that hosts are seldom idle.
fn busy(faults: FaultShares) -> Settings {
    Settings { budget: 0.5, faults_per_hour: 60.0, faults, ..usual() }
}

const NONE: FaultShares = FaultShares { crash: 0, pause: 0, cut: 0, broker: 0, leave: 0 };
/// Runs until a sabotage must have been noticed. Each of them is, in a third of the runs or more.
const TRIES: u64 = 20;

/// Breaks a rule on purpose and expects the judge to name a promise in `expected`. The same run with the rule
/// is blameless.
fn must_be_noticed(sabotage: Sabotage, settings: Settings, expected: fn(&Broken) -> bool) {
    let broken = |seed, sabotage| run(settings, seed, sabotage).broken.into_iter().next();
    let mut seeds = 1..=TRIES;
    let noticed = seeds.find_map(|seed| Some((seed, broken(seed, Some(sabotage))?)));
    let (seed, found) = noticed.unwrap_or_else(|| panic!("{sabotage:?} goes unnoticed"));
    assert!(expected(&found), "{sabotage:?}, seed {seed}: {found}");
    assert_eq!(broken(seed, None), None, "seed {seed} fails without {sabotage:?}");
}

fn is_rude_to_an_address(broken: &Broken) -> bool {
    matches!(broken, Broken::Rude { what: "address", .. })
}

#[test]
fn addresses_without_desks_are_noticed() {
    must_be_noticed(Sabotage::NoDesk, usual(), is_rude_to_an_address);
}

/// The last desk's slots are still in use after a hand-over, not after a crash: that takes longer than a slot.
#[test]
fn a_desk_that_does_not_wait_is_noticed() {
    let settings = busy(FaultShares { leave: 1, ..NONE });
    must_be_noticed(Sabotage::EagerDesk, settings, is_rude_to_an_address);
}

#[test]
fn links_deleted_before_their_checkpoint_are_noticed() {
    must_be_noticed(Sabotage::PurgeAhead, usual(), |broken| matches!(broken, Broken::Lost { .. }));
}

#[test]
fn an_old_disk_is_noticed() {
    must_be_noticed(Sabotage::StaleDisk, usual(), |broken| {
        matches!(broken, Broken::PageLost { .. } | Broken::Twice { .. })
    });
}

#[test]
fn a_missing_fence_is_noticed() {
    must_be_noticed(Sabotage::NoFence, usual(), |broken| {
        matches!(broken, Broken::Fence { .. } | Broken::PageLost { .. })
    });
}

#[test]
fn claims_without_comparison_are_noticed() {
    must_be_noticed(Sabotage::NoCompare, usual(), |broken| {
        matches!(broken, Broken::Budget { .. } | Broken::TwoOwners { .. } | Broken::Rude { .. })
    });
}

/// Lost links are usually found again by another fetch, so the judge counts parcels, not pages.
#[test]
fn a_broker_that_loses_what_it_acknowledged_is_noticed() {
    let settings = busy(FaultShares { broker: 1, ..NONE });
    must_be_noticed(Sabotage::UnsyncedBroker, settings, |broken| {
        matches!(broken, Broken::Unread { .. } | Broken::LinkLost { .. })
    });
}
