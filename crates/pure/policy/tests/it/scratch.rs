use super::streams::{Scale, Stream};
use tidewatch_core::PageId;
use tidewatch_policy::{Choice, registry};

const SANE: Scale = Scale { magnitude: (-2.0, 2.0), gap: (0.0, 3.5), budget: (-3.5, -1.0) };

fn mix(hash: &mut u64, word: u64) {
    *hash = (*hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(17);
}

#[test]
fn record_decisions() {
    let mut out = String::new();
    for entry in registry::POLICIES {
        for seed in 1..=4u64 {
            let mut policy = (entry.make)(tidewatch_policy::Setup::seeded(seed));
            let mut stream = Stream::new(seed, SANE);
            let (mut hash, mut whys) = (0xcbf2_9ce4_8422_2325u64, 1u64);
            let mut fetched = 0;
            stream.begin(&mut *policy);
            for step in 0..6000u32 {
                match stream.step(&mut *policy) {
                    Choice::Fetch(page) => { fetched += 1; mix(&mut hash, u64::from(page.0) + 1) }
                    Choice::Idle => mix(&mut hash, 0),
                }
                if entry.name == "price" && step % 10 == 0 {
                    let page = PageId(step * 7919 % stream.pages());
                    let now = stream.now();
                    if let Some(why) = policy.why(page, now) {
                        let tidewatch_policy::explanation::Merit::Clicks { worth, price, host_price } = why.merit else { panic!() };
                        mix(&mut whys, worth.to_bits());
                        mix(&mut whys, why.due.time().unwrap_or(tidewatch_core::Time::NEVER).as_micros());
                        mix(&mut whys, price.to_bits());
                        mix(&mut whys, host_price.to_bits());
                        mix(&mut whys, why.history.unwrap().changes);
                    }
                    if step % 500 == 0 && let Some(then) = policy.what_if(0.02) {
                        mix(&mut whys, then.price.to_bits());
                        mix(&mut whys, then.fetches[3].to_bits());
                        mix(&mut whys, then.profit.to_bits());
                    }
                }
            }
            let mut saved = Vec::new();
            let is_saved = policy.save(&mut saved).unwrap();
            out += &format!("{} {seed} {hash:016x} {whys:016x} {fetched} {} {is_saved}\n", entry.name, stream.pages());
        }
    }
    std::fs::write(std::env::var("DECISIONS").unwrap(), out).unwrap();
}
