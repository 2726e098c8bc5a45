use super::*;
use proptest::prelude::*;

const BUDGET: f64 = 10.0;

const fn at(seconds: u64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

/// A node that wants `level`/√ω fetches per second.
fn curve(level: f64) -> DemandCurve {
    DemandCurve::new(move |price| level / price.sqrt())
}

fn demand(node: u64, under: u64, level: f64) -> Demand {
    let (node, curve) = (NodeId(node), Some(curve(level)));
    Demand { node, under, curve, pages: 0, waiting: 0.0, slack: 0.0 }
}

fn all(_: NodeId) -> bool {
    true
}

fn quote(till: &mut Till, now: Time) -> Option<Quote> {
    match till.want(now, all)? {
        Want::Write { quote, .. } => Some(quote),
        other => panic!("{other:?}"),
    }
}

/// The write that is under way has ended.
fn written(till: &mut Till, now: Time, answer: Answer) {
    let (write, _) = till.writing.clone().expect("a write");
    till.written(now, write, answer);
}

fn rate(quote: &Quote, node: u64) -> f64 {
    quote.grants.iter().find(|grant| grant.node == NodeId(node)).map_or(0.0, |grant| grant.rate)
}

fn ready() -> Till {
    let mut till = Till::new(Epoch(5), BUDGET);
    assert_eq!(till.want(at(0), all), Some(Want::Read));
    till.read(None);
    till
}

#[test]
fn the_price_clears_the_sum_and_grants_follow_demand() {
    let mut till = ready();
    till.hear(at(0), demand(1, 0, 30.0));
    till.hear(at(0), demand(2, 0, 10.0));
    let first = quote(&mut till, at(0)).expect("at once");
    // 40/√ω = 10 at ω = 16.
    assert!((first.price / 16.0 - 1.0).abs() < 0.02, "{}", first.price);
    assert!((rate(&first, 1) + rate(&first, 2) - BUDGET).abs() < 1e-9);
    let share = (1.0 - EQUAL_SHARE) * 0.75 + EQUAL_SHARE / 2.0;
    assert!((rate(&first, 1) / BUDGET - share).abs() < 1e-6);
    assert_eq!(till.want(at(1), all), None, "it is being written");
    written(&mut till, at(1), Answer::Done(8));
    assert_eq!(till.want(at(2), all), None, "nothing new");
    till.hear(at(3), demand(1, 8, 30.0));
    till.hear(at(3), demand(2, 8, 10.0));
    assert!(till.want(at(61), all).is_some());
}

#[test]
fn a_grant_rises_only_after_the_other_node_has_confirmed_its_loss() {
    let mut till = ready();
    till.hear(at(0), demand(1, 0, 10.0));
    let one = quote(&mut till, at(0)).expect("at once");
    assert!((rate(&one, 1) - BUDGET).abs() < 1e-9);
    written(&mut till, at(0), Answer::Done(1));
    till.hear(at(1), demand(1, 1, 10.0));
    till.hear(at(1), demand(2, 0, 10.0));
    let two = quote(&mut till, at(5)).expect("in a hurry");
    assert!((rate(&two, 1) - 5.0).abs() < 1e-6 && rate(&two, 2) < 1e-9, "{two:?}");
    written(&mut till, at(5), Answer::Done(2));
    // The first node has not confirmed: the second gets nothing however often it asks.
    till.hear(at(6), demand(2, 2, 10.0));
    let three = quote(&mut till, at(10)).expect("still in a hurry");
    assert!(rate(&three, 2) < 1e-9, "{three:?}");
    written(&mut till, at(10), Answer::Done(3));
    till.hear(at(11), demand(1, 2, 10.0));
    let four = quote(&mut till, at(15)).expect("confirmed");
    assert!((rate(&four, 2) - 5.0).abs() < 1e-6, "{four:?}");
}

#[test]
fn a_buried_node_frees_its_grant() {
    let mut till = ready();
    till.hear(at(0), demand(1, 0, 10.0));
    till.hear(at(0), demand(2, 0, 10.0));
    quote(&mut till, at(0)).expect("at once");
    written(&mut till, at(0), Answer::Done(1));
    till.hear(at(1), demand(1, 1, 10.0));
    let alive = |node| node != NodeId(2);
    let Some(Want::Write { quote, expected: 1, .. }) = till.want(at(6), alive) else { panic!() };
    assert!((rate(&quote, 1) - BUDGET).abs() < 1e-9 && quote.grants.len() == 1, "{quote:?}");
}

#[test]
fn the_next_owner_starts_with_the_ceilings_of_the_last() {
    let mut old = ready();
    old.hear(at(0), demand(1, 0, 10.0));
    let quote = quote(&mut old, at(0)).expect("at once");
    let mut new = Till::new(Epoch(6), BUDGET);
    assert_eq!(new.want(at(50), all), Some(Want::Read));
    new.read(Some((9, quote)));
    new.hear(at(50), demand(2, 0, 10.0));
    let Some(Want::Write { expected: 9, quote, .. }) = new.want(at(50), all) else { panic!() };
    assert!((rate(&quote, 1) - BUDGET).abs() < 1e-9, "it keeps what it has");
    assert!(rate(&quote, 2) < 1e-9);
    // What the old owner wrote later is refused; it reads, and sees that it is deposed.
    written(&mut new, at(50), Answer::Done(10));
    written(&mut old, at(51), Answer::Refused);
    assert_eq!(old.want(at(51), all), Some(Want::Read));
    old.read(Some((10, quote)));
    assert_eq!(old.want(at(51), all), Some(Want::Deposed));
}

#[test]
fn an_unclear_end_is_read_again() {
    let mut till = ready();
    till.hear(at(0), demand(1, 0, 10.0));
    let sent = quote(&mut till, at(0)).expect("at once");
    written(&mut till, at(5), Answer::Unknown);
    assert_eq!(till.want(at(5), all), Some(Want::Read));
    till.read(Some((4, sent)));
    let Some(Want::Write { expected: 4, quote, .. }) = till.want(at(5), all) else { panic!() };
    assert!((rate(&quote, 1) - BUDGET).abs() < 1e-9);
}

#[test]
fn the_controller_raises_the_price_while_things_wait() {
    let mut till = ready();
    let waiting = |under| Demand { waiting: 1.0, ..demand(1, under, 40.0) };
    till.hear(at(0), waiting(0));
    let before = quote(&mut till, at(0)).expect("at once").price;
    written(&mut till, at(0), Answer::Done(1));
    let mut price = before;
    for minute in 1..=120 {
        till.hear(at(60 * minute), waiting(minute));
        let quote = quote(&mut till, at(60 * minute)).expect("every minute");
        written(&mut till, at(60 * minute), Answer::Done(minute + 1));
        price = quote.price;
    }
    let factor = price / before;
    assert!((factor / std::f64::consts::E - 1.0).abs() < 0.02, "{factor}");
}

#[test]
fn a_purse_follows_the_newest_quote_and_confirms_a_loss_at_once() {
    let mut purse = Purse::new(at(0));
    let grant = |rate, ceiling| {
        let grants = vec![Grant { node: NodeId(1), rate, ceiling }];
        Quote { price: 2.0, grants, ..Quote::default() }
    };
    assert_eq!(purse.report(at(0), NodeId(1), None, 0, [0.0; 2]).under, 0);
    assert_eq!(purse.hear(at(1), NodeId(1), 5, &grant(3.0, 3.0)), Some(3.0));
    assert_eq!(purse.next_report(), at(60));
    assert_eq!(purse.hear(at(2), NodeId(1), 4, &grant(9.0, 9.0)), None, "older");
    assert_eq!(purse.hear(at(2), NodeId(1), 6, &grant(1.0, 3.0)), Some(1.0));
    assert_eq!(purse.next_report(), at(2));
    assert_eq!(purse.report(at(2), NodeId(1), None, 0, [0.0; 2]).under, 6);
    assert_eq!(purse.hear(at(3), NodeId(9), 7, &grant(1.0, 1.0)), Some(0.0), "not granted");
}

/// The till moves while the quote changes: one read by the new owner is old, and the quote between that one and
/// the newest granted more than either.
#[test]
fn an_old_quote_says_nothing_of_what_came_after_it() {
    let granted = |rates: [f64; 2], ceilings: [f64; 2]| {
        let grant =
            |n: usize| Grant { node: NodeId(n as u64), rate: rates[n], ceiling: ceilings[n] };
        Quote {
            epoch: Epoch(5),
            budget: BUDGET,
            grants: vec![grant(0), grant(1)],
            ..Quote::default()
        }
    };
    let old = granted([2.0, 2.0], [2.0, 2.0]);
    // Under 8, which this till never saw, node 0 was granted 8. It has not confirmed 9.
    let newest = granted([2.0, 2.0], [8.0, 2.0]);
    let mut till = Till::new(Epoch(6), BUDGET);
    assert_eq!(till.want(at(0), all), Some(Want::Read));
    till.read(Some((7, old)));
    till.hear(at(0), demand(0, 7, 10.0));
    till.hear(at(0), demand(1, 7, 10.0));
    let Some(Want::Write { expected: 7, .. }) = till.want(at(0), all) else { panic!() };
    written(&mut till, at(1), Answer::Refused);
    assert_eq!(till.want(at(1), all), Some(Want::Read));
    till.read(Some((9, newest)));
    let quote = quote(&mut till, at(2)).expect("at once");
    assert!(rate(&quote, 1) <= BUDGET - 8.0 + 1e-9, "node 0 may still spend 8: {quote:?}");
}

/// The answer to a write that was given up says nothing of the next one.
#[test]
fn a_late_answer_is_not_taken_for_that_of_another_write() {
    let mut till = ready();
    till.hear(at(0), demand(1, 0, 10.0));
    let Some(Want::Write { write: first, quote: granted, .. }) = till.want(at(0), all) else {
        panic!()
    };
    till.written(at(5), first, Answer::Unknown);
    // The write has arrived as revision 1, but a lagging replica shows nothing.
    till.read(None);
    till.hear(at(6), demand(2, 0, 10.0));
    let Some(Want::Write { write: second, expected: 0, .. }) = till.want(at(10), all) else {
        panic!()
    };
    till.written(at(11), first, Answer::Done(1));
    till.written(at(12), second, Answer::Refused);
    assert_eq!(till.want(at(12), all), Some(Want::Read));
    till.read(Some((1, granted)));
    let next = quote(&mut till, at(20)).expect("a new node");
    assert!(rate(&next, 2) < 1e-9, "node 1 may spend everything: {next:?}");
}

proptest! {
    /// Whatever is lost, late or old, the grants in force never add up to more than the budget. Answers come
    /// when they like, also to a till that did not ask.
    #[test]
    fn grants_in_force_stay_within_the_budget(
        turns in proptest::collection::vec((0usize..4, 0u8..8, 0.1f64..50.0), 1..150),
    ) {
        let mut till = Till::new(Epoch(5), BUDGET);
        let mut purses: Vec<Purse> = (0..4).map(|_| Purse::new(at(0))).collect();
        let mut quotes: Vec<(u64, Quote)> = Vec::new();
        let (mut late, mut answers) = (Vec::new(), Vec::new());
        let (mut epoch, mut now) = (5, 0);
        for (node, what, level) in turns {
            now += 6;
            let me = NodeId(node as u64);
            match what {
                0 | 1 => {
                    let demand = purses[node].report(at(now), me, Some(curve(level)), 0, [0.0; 2]);
                    if what == 0 { till.hear(at(now), demand) } else { late.push(demand) }
                }
                2 => if !late.is_empty() { till.hear(at(now), late.remove(node % late.len())) },
                3 | 4 => match till.want(at(now), all) {
                    Some(Want::Write { write, quote, expected }) => {
                        let newest = quotes.last().map_or(0, |(revision, _)| *revision);
                        let answer = if expected == newest {
                            quotes.push((newest + 1, quote));
                            Answer::Done(newest + 1)
                        } else {
                            Answer::Refused
                        };
                        // Sometimes the answer comes after it was given up.
                        if level < 40.0 {
                            till.written(at(now), write, answer);
                        } else {
                            till.written(at(now), write, Answer::Unknown);
                            answers.push((write, answer));
                        }
                    }
                    // Sometimes a replica that lags is asked.
                    Some(Want::Read) => {
                        let behind = if level < 25.0 { 0 } else { node };
                        let found = quotes.len().checked_sub(1 + behind);
                        till.read(found.map(|place| quotes[place].clone()));
                    }
                    _ => {}
                },
                5 if level < 15.0 => {
                    epoch += 1;
                    till = Till::new(Epoch(epoch), BUDGET);
                }
                5 => if let Some((write, answer)) = answers.pop() {
                    till.written(at(now), write, answer);
                },
                _ => if let Some((revision, quote)) = quotes.last() {
                    purses[node].hear(at(now), me, *revision, quote);
                },
            }
            let sum: f64 = purses.iter().map(Purse::rate).sum();
            prop_assert!(sum <= BUDGET * (1.0 + 1e-9), "{sum}");
        }
    }
}
