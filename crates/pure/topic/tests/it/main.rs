//! Topics of generated pages, whose truth is known.

use tidewatch_math::Draws;
use tidewatch_topic::{Gist, Topic, Wanted};

/// Words that all pages use, and words of the topic alone.
const COMMON: usize = 3_000;
const OWN: usize = 60;
/// Words of a page.
const LONG: usize = 200;
/// The share of topical pages among all.
const SHARE: f64 = 0.2;

/// A page: one word in eight of a topical page is the topic's own, and one in a hundred of any other.
fn page(draws: &mut Draws, is_on_topic: bool) -> Gist {
    let own = if is_on_topic { 0.125 } else { 0.01 };
    let words = (0..LONG).map(|_| {
        if draws.chance(own) {
            return format!("own{}", draws.below(OWN as u64));
        }
        // Frequent words are far more frequent than others, as in texts.
        let word = (COMMON as f64).powf(draws.uniform()) as usize;
        format!("common{word}")
    });
    Gist::of("", &words.collect::<Vec<_>>().join(" "), "eng")
}

/// How a topic judges pages it has not met: mean chance of topical ones and of others, the share of pages
/// on the right side of a half, and the largest difference between what is said and what is true among
/// pages about which the same is said.
struct Verdict {
    right: f64,
    said: f64,
    off: f64,
}

fn judge(topic: &Topic, draws: &mut Draws) -> Verdict {
    let (mut right, mut said, mut bins) = (0.0, 0.0, vec![(0.0, 0.0); 5]);
    let pages = 4_000;
    for _ in 0..pages {
        let is_on_topic = draws.chance(SHARE);
        let chance = topic.fit(&page(draws, is_on_topic)).chance;
        right += f64::from(u8::from((chance > 0.5) == is_on_topic));
        said += chance;
        let bin = &mut bins[((chance * 5.0) as usize).min(4)];
        *bin = (bin.0 + chance, bin.1 + f64::from(u8::from(is_on_topic)));
    }
    let of = f64::from(pages);
    let off = bins.iter().map(|(said, proved): &(f64, f64)| (said - proved).abs() / of).sum();
    Verdict { right: right / of, said: said / of, off }
}

fn crawl(topic: &mut Topic, pages: usize, draws: &mut Draws) {
    for _ in 0..pages {
        let is_on_topic = draws.chance(SHARE);
        topic.meet(&page(draws, is_on_topic));
    }
}

/// Ten examples are enough to tell pages of a topic from others, and what is said is about as often true.
#[test]
fn ten_examples_teach_a_topic() {
    for seed in 0..3 {
        let mut draws = Draws::of(seed, "topics", 0);
        let mut topic = Topic::new(Wanted::default(), seed);
        for _ in 0..10 {
            topic.give(&page(&mut draws, true));
        }
        crawl(&mut topic, 600, &mut draws);
        let verdict = judge(&topic, &mut draws);
        assert!(verdict.right > 0.95, "right {}", verdict.right);
        assert!((verdict.said - SHARE).abs() < 0.1, "said {}", verdict.said);
        assert!(verdict.off < 0.05, "off by {}", verdict.off);
    }
}

/// A topic named by three of its words finds pages that have none of them.
#[test]
fn words_teach_a_topic() {
    let mut draws = Draws::of(1, "topics", 0);
    let wanted = Wanted { words: "own1 own2 own3".into(), languages: Vec::new() };
    let mut topic = Topic::new(wanted, 1);
    crawl(&mut topic, 1_000, &mut draws);
    let verdict = judge(&topic, &mut draws);
    assert!(verdict.right > 0.95, "right {}", verdict.right);
    let without = "own4 own5 own6 own7 own8 own9 ".repeat(5);
    assert!(topic.fit(&Gist::of("", &without, "eng")).chance > 0.5);
}

#[test]
fn a_page_in_another_language_is_not_wanted() {
    let wanted = Wanted { words: String::new(), languages: vec!["deu".into(), "fra".into()] };
    let topic = Topic::new(wanted, 1);
    let fit = |language: &str| topic.fit(&Gist::of("Gezeiten", "Hochwasser", language)).chance;
    assert!(fit("deu") > 0.99 && fit("fra") > 0.99 && fit("eng") < 0.01);
    assert!(fit("") > 0.99, "an unknown language may be wanted");
}

/// What was learnt is kept over a restart, to the bit.
#[test]
fn a_topic_is_saved() {
    let mut draws = Draws::of(1, "topics", 0);
    let mut topic = Topic::new(Wanted::default(), 1);
    for _ in 0..5 {
        topic.give(&page(&mut draws, true));
    }
    crawl(&mut topic, 100, &mut draws);
    let bytes = postcard::to_stdvec(&topic).unwrap();
    let mut again: Topic = postcard::from_bytes(&bytes).unwrap();
    for _ in 0..200 {
        let next = page(&mut draws, false);
        let (one, other) = (topic.meet(&next).0.chance, again.meet(&next).0.chance);
        assert_eq!(one.to_bits(), other.to_bits());
    }
}
