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

/// Without desks two nodes soon meet at an address, and the judge says so.
#[test]
fn the_judge_notices_what_is_broken_on_purpose() {
    let settings = Settings::new(4, Span::HOUR);
    let is_found = |broken: &Broken| matches!(broken, Broken::Rude { what: "address", .. });
    let first = |seed| run(settings, seed, Some(Sabotage::NoDesk)).broken.into_iter().next();
    assert!((1..4).filter_map(first).any(|broken| is_found(&broken)));
}
