use super::*;

const HOME: HomeId = HomeId(1);
const PARTS: u32 = 4;

const fn at(seconds: u64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

/// A broker that answers at once, and one node.
struct Town {
    node: Node,
    now: u64,
    revision: u64,
    manifests: BTreeMap<u32, (u64, Manifest)>,
    /// Commands that the broker has nothing to do with.
    told: Vec<Command>,
    /// Whether renewals arrive.
    is_up: bool,
    /// Whether partitions open, or the process is killed before they do.
    opens: bool,
}

impl Town {
    fn new() -> Town {
        let node = Node::new(at(0), NodeId(10), HOME, PARTS);
        let (manifests, told) = (BTreeMap::new(), Vec::new());
        Town { node, now: 0, revision: 100, manifests, told, is_up: true, opens: true }
    }

    /// Runs until second `until`.
    fn run(&mut self, until: u64) {
        while self.now < until {
            self.now += 1;
            self.node.tick(at(self.now));
            self.serve();
        }
    }

    fn serve(&mut self) {
        while let Some(command) = self.node.next_command() {
            let now = at(self.now);
            match command {
                Command::Member { request, .. } if !self.is_up => {
                    self.node.answered(now, request, Answer::Unknown);
                }
                Command::Member { request, node, member, .. } => {
                    self.revision += 1;
                    self.node.answered(now, request, Answer::Done(self.revision));
                    self.node.member_seen(now, self.revision, node, member);
                }
                Command::Claim { request, seat, claim, .. } => {
                    self.revision += 1;
                    self.node.answered(now, request, Answer::Done(self.revision));
                    self.node.claim_seen(now, self.revision, seat, claim);
                }
                Command::ReadManifest { partition } => {
                    let read = self.manifests.get(&partition).cloned();
                    self.node.manifest_read(now, partition, read);
                }
                Command::PutManifest { request, partition, expected, manifest } => {
                    let found = self.manifests.get(&partition).map_or(0, |found| found.0);
                    if found != expected {
                        self.node.answered(now, request, Answer::Refused);
                        continue;
                    }
                    self.revision += 1;
                    self.manifests.insert(partition, (self.revision, manifest));
                    self.node.answered(now, request, Answer::Done(self.revision));
                }
                Command::Open { partition, .. } => {
                    self.told.push(command);
                    if self.opens {
                        self.node.opened(now, partition);
                    }
                }
                other => self.told.push(other),
            }
        }
    }

    fn acts(&self) -> usize {
        let seats = (0..PARTS).map(Seat::Partition);
        seats.filter(|seat| self.node.may_act(at(self.now), *seat).is_some()).count()
    }

    fn closed(&self) -> usize {
        self.told.iter().filter(|told| matches!(told, Command::Close { .. })).count()
    }
}

#[test]
fn a_lonely_node_takes_everything_after_it_has_settled() {
    let mut town = Town::new();
    town.run(5);
    assert_eq!(town.acts(), 0);
    town.run(20);
    assert_eq!(town.acts(), PARTS as usize);
    assert!(town.told.iter().any(|told| matches!(told, Command::PriceWon { .. })));
    let fresh = Command::Open { partition: 0, epoch: Epoch(0), local: None, restore: None };
    let opened = town.told.iter().find_map(|told| match told {
        Command::Open { partition: 0, epoch, .. } => Some((told, *epoch)),
        _ => None,
    });
    let (told, epoch) = opened.expect("opened");
    assert!(epoch.0 > 100);
    assert_eq!(
        std::mem::discriminant(told),
        std::mem::discriminant(&fresh),
        "nothing was there before"
    );
}

#[test]
fn without_renewals_everything_is_closed_after_thirty_seconds_and_claimed_anew_later() {
    let mut town = Town::new();
    town.run(20);
    let epochs: Vec<_> = town.node.held().collect();
    town.is_up = false;
    town.run(45);
    assert_eq!(town.acts(), PARTS as usize, "30 s from the last renewal sent");
    town.run(50);
    assert_eq!((town.acts(), town.closed()), (0, PARTS as usize));
    town.is_up = true;
    town.run(65);
    assert_eq!(town.acts(), PARTS as usize);
    let again: Vec<_> = town.node.held().collect();
    assert!(epochs.iter().zip(&again).all(|(before, after)| before.1 < after.1), "new epochs");
    // Its own disk is the newest: the last owner was itself.
    let local = |told: &Command| match told {
        Command::Open { partition: 0, local, .. } => Some(*local),
        _ => None,
    };
    let last = town.told.iter().rev().find_map(local).flatten().expect("opened again");
    assert!(last.has(epochs.iter().find(|held| held.0 == Seat::Partition(0)).expect("held").1));
}

/// What the directory holds is of an epoch before the last claim, and still the newest.
#[test]
fn a_process_killed_between_claim_and_opening_does_not_cost_its_directory() {
    let mut town = Town::new();
    town.run(20);
    let lives = [(11, HOME, true), (12, HOME, true), (13, HomeId(2), false), (14, HOME, false)];
    let first = town.node.may_act(at(town.now), Seat::Partition(0)).expect("opened");
    for (name, home, is_newest) in lives {
        let old =
            std::mem::replace(&mut town.node, Node::new(at(town.now), NodeId(name), home, PARTS));
        town.opens = false;
        for (seat, epoch) in old.held() {
            let claim = Claim {
                owner: Some(Owner { node: old.me(), home: old.me.home }),
                ..Claim::default()
            };
            town.node.claim_seen(at(town.now), epoch.0, seat, claim);
        }
        town.node.member_seen(at(town.now), 99, old.me(), Member::Dead);
        town.told.clear();
        town.run(town.now + 20);
        let local = town.told.iter().find_map(|told| match told {
            Command::Open { partition: 0, local, .. } => Some(*local),
            _ => None,
        });
        let local = local.expect("claimed");
        assert_eq!(local.is_some_and(|line| line.has(first)), is_newest, "{name}: {local:?}");
    }
}

#[test]
fn an_answer_from_before_the_end_of_the_lease_makes_no_owner() {
    let mut node = Node::new(at(0), NodeId(10), HOME, 1);
    let mut pending = None;
    for second in 0..=70 {
        node.tick(at(second));
        while let Some(command) = node.next_command() {
            match command {
                // Renewals arrive, but for the time from 10 to 60.
                Command::Member { request, member, .. } if !(10..60).contains(&second) => {
                    node.answered(at(second), request, Answer::Done(1 + second));
                    node.member_seen(at(second), 1 + second, NodeId(10), member);
                }
                Command::Claim { request, seat: Seat::Partition(0), .. } if second < 60 => {
                    pending = Some(request);
                }
                Command::ReadManifest { .. } => panic!("it owns nothing"),
                _ => {}
            }
        }
        if second == 65 {
            // The claim had succeeded; its answer took a minute. Others may own it by now.
            node.answered(at(second), pending.expect("claimed"), Answer::Done(99));
        }
    }
    assert_eq!(node.may_act(at(70), Seat::Partition(0)), None);
}

#[test]
fn a_newer_claim_of_another_node_closes_the_partition() {
    let mut town = Town::new();
    town.run(20);
    let owner = Some(Owner { node: NodeId(99), home: HomeId(9) });
    let other = Claim { owner, ..Claim::default() };
    town.node.claim_seen(at(20), 5, Seat::Partition(0), other);
    assert_eq!(town.acts(), PARTS as usize, "an old revision");
    town.node.claim_seen(at(20), 9999, Seat::Partition(0), other);
    town.serve();
    assert_eq!((town.acts(), town.closed()), (PARTS as usize - 1, 1));
}

/// Two homes with two partitions each. An operator gives one away: the placement would bring it back at once.
#[test]
fn a_given_partition_stays_where_the_operator_put_it() {
    let mut town = Town::new();
    let other = HomeId(2);
    town.run(20);
    let given = (0..PARTS).find(|part| town.node.may_act(at(20), Seat::Partition(*part)).is_some());
    let given = given.expect("it holds some");
    town.node.give(at(20), given, HomeId(3));
    town.node.tick(at(21));
    town.serve();
    // The operator thinks again while the partition is on its way.
    town.node.give(at(21), given, other);
    town.node.drained(at(21), given);
    let mut released = None;
    while let Some(command) = town.node.next_command() {
        if let Command::Claim { request, seat: Seat::Partition(part), claim, .. } = command {
            town.revision += 1;
            town.node.answered(at(21), request, Answer::Done(town.revision));
            released = Some((part, claim));
        }
    }
    let expected = Claim { owner: None, to: Some(other), is_given: true };
    assert_eq!(released, Some((given, expected)));
    // The other home takes it, and keeps the operator's word in its claim.
    let mut heir = Node::new(at(21), NodeId(20), other, PARTS);
    heir.claim_seen(at(21), town.revision, Seat::Partition(given), expected);
    let taken = heir.claim_of_mine(Seat::Partition(given));
    assert!(taken.is_given && taken.owner == Some(heir.me));
    // Any third home that takes it does not.
    let mut third = Node::new(at(21), NodeId(30), HomeId(3), PARTS);
    third.claim_seen(at(21), town.revision, Seat::Partition(given), expected);
    assert!(!third.claim_of_mine(Seat::Partition(given)).is_given);
}

#[test]
fn a_fenced_node_cannot_checkpoint() {
    let mut town = Town::new();
    town.run(20);
    town.node.checkpoint(at(20), 0, 7, "a".into());
    town.serve();
    assert!(town.told.contains(&Command::Checkpointed { partition: 0, position: 7 }));
    // Another owner has written its epoch meanwhile.
    let object = Some("a".into());
    let next = Manifest { epoch: Epoch(9999), position: 7, object, ..Manifest::default() };
    town.manifests.insert(0, (9999, next.clone()));
    town.node.checkpoint(at(20), 0, 8, "b".into());
    town.run(25);
    assert_eq!(town.manifests[&0].1, next);
    assert_eq!((town.acts(), town.closed()), (PARTS as usize - 1, 1));
}

#[test]
fn a_checkpoint_with_an_unclear_end_is_found_or_written_again() {
    for has_arrived in [false, true] {
        let mut town = Town::new();
        town.run(20);
        town.node.checkpoint(at(20), 0, 7, "a".into());
        let Some(Command::PutManifest { request, manifest, .. }) = town.node.next_command() else {
            panic!("a write");
        };
        if has_arrived {
            town.manifests.insert(0, (5000, manifest));
        }
        town.node.answered(at(20), request, Answer::Unknown);
        town.run(25);
        assert_eq!(town.manifests[&0].1.position, 7);
        let told = Command::Checkpointed { partition: 0, position: 7 };
        assert_eq!(town.told.iter().filter(|other| **other == told).count(), 1);
    }
}

/// A checkpoint that is handed in while another is being written is not taken for accepted with it.
#[test]
fn only_the_checkpoint_that_was_written_is_accepted() {
    let mut town = Town::new();
    town.run(20);
    town.node.checkpoint(at(20), 0, 7, "a".into());
    town.node.checkpoint(at(20), 0, 8, "b".into());
    let Some(Command::PutManifest { request, .. }) = town.node.next_command() else {
        panic!("a write");
    };
    town.node.answered(at(20), request, Answer::Done(5000));
    assert_eq!(town.node.next_command(), Some(Command::Checkpointed { partition: 0, position: 7 }));
    assert!(matches!(
        town.node.next_command(),
        Some(Command::PutManifest { expected: 5000, manifest: Manifest { position: 8, .. }, .. })
    ));
}

#[test]
fn a_checkpoint_that_was_overtaken_is_ignored() {
    let mut town = Town::new();
    town.run(20);
    town.node.checkpoint(at(20), 0, 8, "b".into());
    town.serve();
    town.node.checkpoint(at(20), 0, 7, "a".into());
    town.serve();
    let accepted = town.node.accepted_manifest(0).expect("held");
    assert_eq!((accepted.position, accepted.object.as_deref()), (8, Some("b")));
    assert_eq!(town.manifests[&0].1.position, 8);
}

#[test]
fn a_leaving_node_hands_over_two_at_a_time_and_leaves() {
    let mut town = Town::new();
    town.run(20);
    town.node.leave(at(20));
    town.run(22);
    let drains = |town: &Town| {
        let drain = |told: &Command| match told {
            Command::Drain { partition } => Some(*partition),
            _ => None,
        };
        town.told.iter().filter_map(drain).collect::<Vec<u32>>()
    };
    assert_eq!(drains(&town).len(), MOVING_AT_ONCE);
    for partition in drains(&town) {
        town.node.checkpoint(at(22), partition, 1, "last".into());
        town.node.drained(at(22), partition);
    }
    town.serve();
    town.run(30);
    let rest = drains(&town).split_off(MOVING_AT_ONCE);
    assert_eq!(rest.len(), 2);
    rest.into_iter().for_each(|partition| town.node.drained(at(30), partition));
    town.serve();
    town.run(40);
    assert_eq!(town.acts(), 0);
    assert!(town.told.contains(&Command::Left) && town.closed() == 0);
}

#[test]
fn a_buried_node_gives_up_at_once_and_comes_back_under_another_name() {
    let mut town = Town::new();
    town.run(20);
    town.node.member_seen(at(20), 9999, NodeId(10), Member::Dead);
    town.serve();
    assert_eq!((town.acts(), town.closed()), (0, PARTS as usize));
    assert_ne!(town.node.me(), NodeId(10));
    town.run(40);
    assert_eq!(town.acts(), PARTS as usize);
}

/// Otherwise the placement takes it for idle and moves another one after it, and so on.
#[test]
fn a_partition_that_moves_keeps_its_load_until_it_is_measured_again() {
    let mut town = Town::new();
    town.run(3);
    let loads = vec![(2, 7.0), (PARTS, 9.0)];
    let (home, serial, is_leaving) = (HomeId(2), 1, false);
    let other = Renewal { home, serial, is_leaving, loads };
    town.node.member_seen(at(3), 40, NodeId(20), Member::Alive(other));
    town.node.member_seen(at(3), 41, NodeId(20), Member::Dead);
    town.run(20);
    town.node.tick(at(30));
    let told = std::iter::from_fn(|| town.node.next_command()).find_map(|command| match command {
        Command::Member { member: Member::Alive(own), .. } => Some(own.loads),
        _ => None,
    });
    assert_eq!(told, Some(vec![(2, 7.0)]));
}
