use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const GAP: Span = Span::SECOND;

const fn at(seconds: u64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

fn address() -> IpAddr {
    [192, 0, 2, 1].into()
}

const fn asker(partition: u32) -> Asker {
    Asker { partition, epoch: Epoch(1) }
}

fn ask(partition: u32, number: u64, wish: Wish) -> Ask {
    Ask { address: address(), from: asker(partition), number, wish }
}

/// A desk that is open at second 100.
fn desk() -> Desk {
    Desk::new(at(0), GAP)
}

#[test]
fn a_new_desk_waits_until_earlier_slots_are_over() {
    let mut desk = desk();
    assert_eq!(desk.ask(at(10), ask(1, 1, Wish::Use)), Reply::Wait(Span::SECOND.times(3)));
    assert_eq!(desk.ask(at(13), ask(1, 2, Wish::Use)), Reply::Granted);
}

#[test]
fn another_partition_waits_for_the_slot_and_the_gap() {
    let mut desk = desk();
    assert_eq!(desk.ask(at(100), ask(1, 1, Wish::Use)), Reply::Granted);
    assert_eq!(desk.ask(at(101), ask(2, 1, Wish::Use)), Reply::Wait(Span::SECOND.times(12)));
    // Somebody waits, so the first one may only finish what it does.
    assert_eq!(desk.ask(at(105), ask(1, 2, Wish::Use)), Reply::Wait(SLOT));
    assert_eq!(desk.ask(at(106), ask(1, 3, Wish::GoOn)), Reply::Granted);
    assert!(matches!(desk.ask(at(113), ask(2, 2, Wish::Use)), Reply::Wait(_)));
    assert_eq!(desk.ask(at(119), ask(2, 3, Wish::Use)), Reply::Granted);
    // The next owner of the same partition is another asker.
    let next = Ask { from: Asker { partition: 2, epoch: Epoch(9) }, ..ask(2, 1, Wish::Use) };
    assert!(matches!(desk.ask(at(120), next), Reply::Wait(_)));
}

#[test]
fn a_long_request_ends_when_others_wait() {
    let mut desk = desk();
    let mut now = at(100);
    assert_eq!(desk.ask(now, ask(1, 1, Wish::Use)), Reply::Granted);
    assert!(matches!(desk.ask(now, ask(2, 1, Wish::Use)), Reply::Wait(_)));
    let mut turns = 0;
    while desk.ask(now, ask(1, 2 + turns, Wish::GoOn)) == Reply::Granted {
        (now, turns) = (now + Span::SECOND.times(5), turns + 1);
    }
    assert_eq!(now.since(at(100)), LONGEST);
}

#[test]
fn a_slot_given_back_is_free_after_the_gap_and_an_old_message_gives_nothing_back() {
    let mut desk = desk();
    assert_eq!(desk.ask(at(100), ask(1, 1, Wish::Use)), Reply::Granted);
    assert_eq!(desk.ask(at(101), ask(1, 3, Wish::Use)), Reply::Granted);
    desk.ask(at(102), ask(1, 2, Wish::GiveBack));
    desk.ask(at(102), ask(2, 9, Wish::GiveBack));
    assert!(matches!(desk.ask(at(104), ask(2, 10, Wish::Use)), Reply::Wait(_)));
    desk.ask(at(105), ask(1, 4, Wish::GiveBack));
    assert_eq!(desk.ask(at(105), ask(2, 11, Wish::Use)), Reply::Wait(GAP));
    assert_eq!(desk.ask(at(106), ask(2, 12, Wish::Use)), Reply::Granted);
}

#[test]
fn a_slot_counts_from_the_question_and_a_stray_answer_for_nothing() {
    let mut slots = Slots::new(asker(1));
    let first = slots.question(at(100), address(), false).expect("wanted");
    assert_eq!(first.wish, Wish::Use);
    assert_eq!(slots.question(at(101), address(), false), None, "under way");
    assert_eq!(slots.until(at(101), address()), None);
    slots.replied(at(103), address(), first.number, Reply::Granted);
    assert_eq!(slots.until(at(103), address()), Some(at(110)));
    assert_eq!(slots.question(at(104), address(), true), None, "long enough");
    let again = slots.question(at(106), address(), true).expect("half over");
    assert_eq!(again.wish, Wish::GoOn);
    assert!(slots.give_back(at(107), address()).is_some_and(|ask| ask.number > again.number));
    // The answer to a question from before, to a slot that was given back.
    slots.replied(at(107), address(), again.number, Reply::Granted);
    assert_eq!(slots.until(at(107), address()), None);
    let new = slots.question(at(107), address(), false).expect("wanted again");
    slots.replied(at(108), address(), again.number, Reply::Granted);
    assert_eq!(slots.until(at(108), address()), None);
    slots.replied(at(108), address(), new.number, Reply::Wait(GAP));
    assert_eq!(slots.question(at(108), address(), false), None);
    assert!(slots.question(at(109), address(), false).is_some());
}

#[test]
fn a_desk_keeps_a_bounded_number_of_addresses() {
    let mut desk = desk();
    let number = |n: u32| IpAddr::from(n.to_be_bytes());
    for n in 0..MOST_ADDRESSES as u32 {
        let ask = Ask { address: number(n), ..ask(1, 1, Wish::Use) };
        assert_eq!(desk.ask(at(100), ask), Reply::Granted);
    }
    let more = Ask { address: number(u32::MAX), ..ask(1, 1, Wish::Use) };
    assert_eq!(desk.ask(at(100), more), Reply::Wait(SLOT));
    assert_eq!(desk.ask(at(200), more), Reply::Granted);
}

/// What two partitions and a network do: who acts, what it does, and how long messages take.
#[derive(Clone, Debug)]
struct Turn {
    who: u32,
    gives_back: bool,
    wait_ms: u64,
    there_ms: u64,
    back_ms: u64,
    is_lost: bool,
    is_repeated: bool,
}

/// A message under way: a question, or the answer to it.
enum Way {
    There { back_ms: u64 },
    Back(Reply),
}

fn turn() -> impl Strategy<Value = Turn> {
    let flags = (any::<bool>(), proptest::bool::weighted(0.2), proptest::bool::weighted(0.3));
    (1u32..3, flags, 0u64..4000, 0u64..9000, 0u64..9000).prop_map(
        |(who, (gives_back, is_lost, is_repeated), wait_ms, there_ms, back_ms)| Turn {
            who,
            gives_back,
            wait_ms,
            there_ms,
            back_ms,
            is_lost,
            is_repeated,
        },
    )
}

proptest! {
    /// Messages are delayed, lost, repeated and overtake each other. Each partition uses the address
    /// whenever it may; between two partitions' uses there is always the gap.
    #[test]
    fn two_partitions_never_meet(turns in proptest::collection::vec(turn(), 1..80)) {
        let mut desk = desk();
        let mut slots = [Slots::new(asker(1)), Slots::new(asker(2))];
        let mut events = BTreeMap::<(u64, u64), (u32, Ask, Way)>::new();
        let (mut now, mut serial) = (100_000u64, 0u64);
        let ms = |ms: u64| Time::from_micros(ms * 1000);
        let mut last: Option<(u32, u64)> = None;
        let mut turns = turns.into_iter();
        let mut next_turn = turns.next().map(|turn| (now + turn.wait_ms, turn));
        while let Some(due) = events.keys().next().map(|key| key.0).into_iter()
            .chain(next_turn.as_ref().map(|(at, _)| *at)).min()
        {
            // Between events both use the address whenever they may.
            for then in (now..due).step_by(50) {
                for who in [1u32, 2] {
                    if slots[who as usize - 1].until(ms(then), address()).is_some() {
                        if let Some((before, when)) = last && before != who {
                            prop_assert!(then - when >= 1000, "{before} at {when}, {who} at {then}");
                        }
                        last = Some((who, then));
                    }
                }
            }
            now = due;
            if let Some(key) = events.keys().next().copied().filter(|key| key.0 == due) {
                let (who, ask, way) = events.remove(&key).expect("there");
                match way {
                    Way::There { back_ms } => {
                        let reply = desk.ask(ms(now), ask);
                        serial += 1;
                        events.insert((now + back_ms, serial), (who, ask, Way::Back(reply)));
                    }
                    Way::Back(reply) => {
                        slots[who as usize - 1].replied(ms(now), address(), ask.number, reply);
                    }
                }
                continue;
            }
            let Some((_, turn)) = next_turn.take() else { break };
            next_turn = turns.next().map(|turn| (now + turn.wait_ms, turn));
            let mine = &mut slots[turn.who as usize - 1];
            let asked = if turn.gives_back {
                mine.give_back(ms(now), address())
            } else {
                mine.question(ms(now), address(), true)
            };
            let Some(ask) = asked.filter(|_| !turn.is_lost) else { continue };
            for copy in 0..=u64::from(turn.is_repeated) {
                serial += 1;
                let there = now + turn.there_ms * (1 + 3 * copy);
                let way = Way::There { back_ms: turn.back_ms };
                events.insert((there, serial), (turn.who, ask, way));
            }
        }
    }
}
