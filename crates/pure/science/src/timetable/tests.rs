use proptest::prelude::*;
use tidewatch_math::Draws;

use super::transport::transport;
use super::*;

/// Sums of a few thousand times of magnitude up to ten.
const ROUNDING: f64 = 1e-9;

/// Random fetches and slots; coarse times make many ties.
fn draw(fetches: usize, slots: usize, late: f64, item: u64) -> (Vec<Fetch>, Vec<Slot>) {
    let mut draws = Draws::of(3, "timetable", item);
    let coarse = draws.chance(0.5);
    let mut time = |width: f64| {
        let t = draws.uniform() * width;
        if coarse { t.floor() } else { t }
    };
    let slots = (0..slots as u32)
        .map(|slot| Slot { crawler: slot % 3, slot: slot / 3, at: time(10.0) })
        .collect();
    let ideals: Vec<f64> = (0..fetches).map(|_| time(9.0)).collect();
    let mut kinds = Draws::of(3, "timetable.kind", item);
    let kind = |late_kind| if late_kind { Punctuality::NotBefore } else { Punctuality::Near };
    let fetch = |ideal_at| Fetch { ideal_at, punctuality: kind(kinds.chance(late)) };
    (ideals.into_iter().map(fetch).collect(), slots)
}

/// The least cost over all ways to give the fetches slots; infinite when there is none.
fn by_trial(fetches: &[Fetch], slots: &[Slot], taken: &mut Vec<bool>) -> f64 {
    let Some((fetch, rest)) = fetches.split_first() else { return 0.0 };
    let mut best = f64::INFINITY;
    for slot in 0..slots.len() {
        if !taken[slot] {
            taken[slot] = true;
            best = best.min(fetch.cost(slots[slot].at) + by_trial(rest, slots, taken));
            taken[slot] = false;
        }
    }
    best
}

/// Checks that the slots are distinct and allowed and that the bound proves the cost optimal.
fn assert_proved(fetches: &[Fetch], slots: &[Slot], table: &Timetable) {
    let mut taken = vec![false; slots.len()];
    for (fetch, &slot) in fetches.iter().zip(&table.slots) {
        assert!(!std::mem::replace(&mut taken[slot], true), "slot {slot} is used twice");
        assert!(fetch.cost(slots[slot].at).is_finite());
    }
    let scale = ROUNDING * (1.0 + table.cost);
    assert!(table.gap() <= scale && table.lower_bound <= table.cost + scale, "{table:?}");
}

#[test]
fn both_methods_equal_trial_of_all_assignments() {
    let mut infeasible = 0;
    for item in 0..3000 {
        let mut draws = Draws::of(5, "timetable.size", item);
        let fetches = draws.below(6) as usize;
        let slots = fetches + draws.below(3) as usize;
        let late = [0.0, 0.3, 1.0][draws.below(3) as usize];
        let (fetches, slots) = draw(fetches, slots, late, item);
        let best = by_trial(&fetches, &slots, &mut vec![false; slots.len()]);
        for found in [schedule(&fetches, &slots).ok(), transport(&fetches, &slots)] {
            if let Some(table) = found {
                assert!((table.cost - best).abs() <= ROUNDING, "{item}: {table:?} {best}");
                assert_proved(&fetches, &slots, &table);
            } else {
                infeasible += 1;
                assert_eq!(best, f64::INFINITY, "{item}");
            }
        }
    }
    assert!(infeasible > 50, "the trials cover problems without a solution");
}

#[test]
fn the_method_for_one_axis_equals_the_general_one() {
    for item in 0..60 {
        let (fetches, slots) =
            draw(80, 80 + item as usize, [0.0, 0.2, 0.9][item as usize % 3], item);
        match (schedule(&fetches, &slots), transport(&fetches, &slots)) {
            (Ok(fast), Some(exact)) => {
                assert!((fast.cost - exact.cost).abs() <= ROUNDING, "{item}");
                assert_proved(&fetches, &slots, &fast);
                assert_proved(&fetches, &slots, &exact);
            }
            (fast, exact) => assert!(fast.is_err() && exact.is_none(), "{item}"),
        }
    }
}

#[test]
fn many_fetches_are_proved_optimal() {
    for (late, item) in [(0.0, 0), (0.3, 1), (1.0, 2)] {
        let (fetches, mut slots) = draw(20_000, 25_000, late, item);
        slots.extend(even_slots(9, 5_000, 12.0));
        let table = schedule(&fetches, &slots).unwrap();
        assert_proved(&fetches, &slots, &table);
    }
}

#[test]
fn evenly_spaced_fetches_meet_evenly_spaced_slots() {
    let fetches: Vec<Fetch> = ideal_times(3, 8.0)
        .map(|ideal_at| Fetch { ideal_at, punctuality: Punctuality::Near })
        .collect();
    let slots: Vec<Slot> = even_slots(1, 4, 8.0).collect();
    let table = schedule(&fetches, &slots).unwrap();
    assert_eq!((table.slots.as_slice(), table.cost), ([1, 2, 3].as_slice(), 0.0));
}

#[test]
fn unplaceable_pages_are_listed() {
    let near = |ideal_at| Fetch { ideal_at, punctuality: Punctuality::Near };
    let late = |ideal_at| Fetch { ideal_at, punctuality: Punctuality::NotBefore };
    let slots = [Slot { crawler: 0, slot: 0, at: 1.0 }, Slot { crawler: 0, slot: 1, at: 2.0 }];
    let error = schedule(&[near(0.0), late(2.5)], &slots).unwrap_err();
    assert_eq!(error, TimetableError::NoSlotAfter { fetch: 1, ideal_at: 2.5, last: 2.0 });
    let error = schedule(&[near(9.0), near(0.0), near(5.0)], &slots).unwrap_err();
    assert_eq!(error, TimetableError::TooFewSlots { fetch: 0, fetches: 3, slots: 2 });
    let error = schedule(&[near(f64::NAN)], &slots).unwrap_err();
    assert!(matches!(error, TimetableError::NotATime { what: "fetch", row: 0, .. }));
    assert_eq!(schedule(&[], &[]).unwrap().cost, 0.0);
}

proptest! {
    #[test]
    fn another_slot_never_costs_more(item: u64, at in 0.0..10.0_f64) {
        let (fetches, mut slots) = draw(12, 14, 0.3, item);
        let before = schedule(&fetches, &slots).map_or(f64::INFINITY, |table| table.cost);
        slots.push(Slot { crawler: 7, slot: 0, at });
        let after = schedule(&fetches, &slots).map_or(f64::INFINITY, |table| table.cost);
        prop_assert!(after <= before + ROUNDING);
    }
}
