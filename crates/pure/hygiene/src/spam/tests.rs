//! Spam as a whole: shapes, links and labels.

use super::*;

fn shape(words: f64, packed: f64, entropy: f64) -> Shape {
    Shape([words, 5.0, 5.0, 0.1, 0.03, packed, entropy, entropy])
}

/// Hosts 1 to 40 are good, 1001 to 1020 are a farm; each side links to itself, and every fourth good host
/// to the farm by a comment.
fn linked() -> Spam {
    let mut spam = Spam::default();
    for (first, count) in [(1, 40), (1001, 20)] {
        for host in 0..count {
            let to = [1, 3, 7].map(|step| first + (host + step) % count);
            spam.read(first + host, None, to.into_iter());
            if first == 1 && host % 4 == 0 {
                spam.read(1 + host, None, [1001 + host % 20].into_iter());
            }
        }
    }
    spam
}

#[test]
fn nothing_known_is_no_doubt() {
    let spam = Spam::default();
    assert!(spam.doubt(7) <= 0.0);
    assert!((spam.chance(7).chance - default::SHARE).abs() < 1e-12);
    let mut spam = linked();
    assert!(!spam.review(), "there is nothing to learn");
    assert!(spam.doubt(1001) <= 0.0);
}

#[test]
fn a_label_stands_until_it_is_taken_back() {
    let mut spam = Spam::default();
    spam.label(7, Some(Label::Spam));
    assert!(spam.doubt(7) > 0.98);
    spam.trust(7);
    assert_eq!(spam.chance(7).label, Some(Label::Spam));
    spam.label(7, Some(Label::Good));
    assert!(spam.doubt(7) <= 0.0);
    spam.label(7, None);
    assert_eq!(spam.chance(7).label, Some(Label::Good), "it is the host of a seed");
}

/// Four labels and four seeds tell the rest of a farm from the rest of the good hosts.
#[test]
fn labels_spread_along_links() {
    let mut spam = linked();
    (1..=4).for_each(|host| spam.trust(host));
    (1001..=1004).for_each(|host| spam.label(host, Some(Label::Spam)));
    assert!(spam.review() && !spam.review());
    let chances = |hosts: std::ops::RangeInclusive<u64>| -> Vec<f64> {
        hosts.map(|host| spam.chance(host).chance).collect()
    };
    let mean = |chances: &[f64]| chances.iter().sum::<f64>() / chances.len() as f64;
    let (farm, good) = (chances(1005..=1020), chances(5..=40));
    assert!(mean(&farm) > 0.5 && mean(&good) < 0.1, "farm {farm:?}, good {good:?}");
    let (least, most) =
        (farm.into_iter().fold(1.0, f64::min), good.into_iter().fold(0.0, f64::max));
    assert!(least > most, "every host of the farm is more likely spam than any good one");
    (1001..=1004).for_each(|host| spam.label(host, None));
    assert!(spam.review(), "what was learnt is forgotten");
    assert!(spam.doubt(1010) <= 0.0);
}

/// Labels of hosts that differ by their text alone move the weights of the measures.
#[test]
fn labels_teach_what_text_says() {
    let mut spam = Spam::default();
    let (stuffed, plain) = (shape(400.0, 8.0, 3.0), shape(300.0, 2.1, 5.4));
    for host in 0..24 {
        let is_stuffed = host % 2 == 0;
        spam.read(host, Some(if is_stuffed { stuffed } else { plain }), std::iter::empty());
        if host < 12 {
            spam.label(host, Some(if is_stuffed { Label::Spam } else { Label::Good }));
        }
    }
    let before = spam.chance(20).chance;
    assert!(spam.review());
    assert!(spam.chance(20).chance > before + 0.3, "{:?} {before}", spam.chance(20));
    assert!(spam.doubt(21) < 0.05, "{}", spam.doubt(21));
}

#[test]
fn means_are_of_the_pages_measured() {
    let mut spam = Spam::default();
    for n in 0..2 * MEASURED {
        assert_eq!(spam.wants(7), n < MEASURED);
        spam.read(7, Some(shape(f64::from(n), 2.0, 5.0)), std::iter::empty());
    }
    let known = spam.measured[&7];
    assert_eq!(known.pages, MEASURED);
    assert!((known.shape.0[0] - 7.5).abs() < 1e-9, "{known:?}");
    spam.read(8, Some(Shape([f64::NAN; MEASURES])), std::iter::empty());
    assert!(spam.wants(8) && !spam.measured.contains_key(&8));
}

#[test]
fn what_is_stored_is_what_is_known() {
    let mut spam = linked();
    spam.label(1001, Some(Label::Spam));
    spam.label(1002, Some(Label::Spam));
    spam.trust(1);
    spam.review();
    let bytes = postcard::to_stdvec(&spam).unwrap();
    let mut read: Spam = postcard::from_bytes(&bytes).unwrap();
    assert!(!read.review());
    assert_eq!(read.chance(1001).label, None, "labels are the caller's");
    read.label(1001, Some(Label::Spam));
    read.label(1002, Some(Label::Spam));
    assert!(read.review());
    for host in [2, 1005, 1019] {
        assert!((read.doubt(host) - spam.doubt(host)).abs() < 1e-9);
    }
}

/// Many seeds were not chosen one by one.
#[test]
fn a_long_list_of_seeds_is_not_trusted() {
    let mut spam = Spam::default();
    for host in 0..MOST_TRUSTED as u64 {
        spam.trust(host);
    }
    assert_eq!(spam.chance(3).label, Some(Label::Good));
    spam.trust(u64::MAX);
    assert_eq!(spam.chance(3).label, None);
}

/// The default model: text that repeats itself, in long pages, is likelier spam than prose; both are far
/// from sure.
#[test]
fn text_alone_tells_a_little() {
    let mut spam = Spam::default();
    // Means of the labelled hosts, and a page of links and repeated phrases.
    spam.read(1, Some(Shape([213.0, 4.3, 4.95, 0.066, 0.029, 2.0, 4.8, 4.5])), std::iter::empty());
    spam.read(2, Some(Shape([900.0, 9.0, 4.95, 0.3, 0.08, 3.2, 5.2, 4.0])), std::iter::empty());
    let (usual, stuffed) = (spam.chance(1).chance, spam.chance(2).chance);
    assert!(usual < default::SHARE && stuffed > default::SHARE, "{usual} {stuffed}");
    assert!(spam.doubt(1) <= 0.0 && spam.doubt(2) <= 0.0, "nothing was labelled");
}
