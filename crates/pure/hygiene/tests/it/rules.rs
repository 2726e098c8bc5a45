//! Rules are found, judged, applied and taken back.

use tidewatch_hygiene::{
    ByHand, Detector, Hygiene, Judgement, Met, RuleKind, RuleView, Seen, Settings, Showed,
};

/// Fetches within which rules of a host must be found.
const FETCHES: usize = 200;
/// Beside hosts there are templates and identities, which have bounds of their own.
const BESIDE: usize = 8 << 20;

fn hygiene() -> Hygiene {
    Hygiene::new(Settings::default())
}

fn fetch(hygiene: &mut Hygiene, url: &str, identity: u64) {
    hygiene.learn(&Seen::new(url, Showed::page(identity, &[])));
}

fn judge(hygiene: &Hygiene, url: &str) -> Judgement {
    hygiene.judge(&Met::new(url))
}

fn are_one(hygiene: &Hygiene, one: &str, other: &str) -> bool {
    judge(hygiene, one).key == judge(hygiene, other).key
}

/// A site on which every fifth page is fetched under a second URL, as `alias` writes it.
fn crawl(hygiene: &mut Hygiene, url: impl Fn(u64) -> String, alias: impl Fn(u64) -> String) {
    for page in 0..(FETCHES as u64) * 5 / 6 {
        fetch(hygiene, &url(page), 1000 + page);
        if page % 5 == 0 {
            fetch(hygiene, &alias(page), 1000 + page);
        }
    }
}

#[test]
fn aliases_of_every_kind_are_learnt_within_the_aim() {
    type Spell = fn(u64) -> String;
    let site = "https://a.example";
    let kinds: [(RuleKind, Spell, Spell); 6] = [
        (
            RuleKind::Id,
            |p| format!("/news/title-{p}-of-it-{}.html", 7_000_000 + p),
            |p| format!("/sport/other-{}.html", 7_000_000 + p),
        ),
        (RuleKind::Parameters, |p| format!("/story?p={p}"), |p| format!("/story?p={p}&ref=x{p}")),
        (RuleKind::Slash, |p| format!("/story/of-{p}x"), |p| format!("/story/of-{p}x/")),
        (RuleKind::Case, |p| format!("/story/of-{p}x"), |p| format!("/Story/Of-{p}x")),
        (RuleKind::Tail, |p| format!("/story/of-{p}x/"), |p| format!("/story/of-{p}x/index.html")),
        (RuleKind::Swap, |p| format!("/story/of-{p}x"), |p| format!("/amp/story/of-{p}x")),
    ];
    for (kind, url, alias) in kinds {
        let mut hygiene = hygiene();
        crawl(&mut hygiene, |p| site.to_owned() + &url(p), |p| site.to_owned() + &alias(p));
        let (known, met) = (site.to_owned() + &url(4321), site.to_owned() + &alias(4321));
        assert!(are_one(&hygiene, &known, &met), "{kind:?}: {:#?}", hygiene.rules());
        let other = site.to_owned() + &url(4322);
        assert!(!are_one(&hygiene, &known, &other), "{kind:?}");
        let judgement = judge(&hygiene, &met);
        assert!(judgement.chance >= Settings::default().accept && judgement.chance < 1.0);
        let rule = hygiene.rules().into_iter().find(|rule| rule.is_applied).unwrap();
        assert_eq!(rule.kind, kind);
    }
}

#[test]
fn session_ids_in_the_path_are_learnt() {
    let mut hygiene = hygiene();
    let url =
        |session: u64, page: u64| format!("https://a.example/s/q{session}x{session}/of-{page}-it");
    for fetch_number in 0..FETCHES as u64 {
        let page = fetch_number % 30;
        fetch(&mut hygiene, &url(100 + fetch_number, page), 1000 + page);
    }
    assert!(are_one(&hygiene, &url(9000, 77), &url(9001, 77)), "{:#?}", hygiene.rules());
    assert!(!are_one(&hygiene, &url(9000, 77), &url(9000, 78)));
}

/// Renamed and with a parameter at once: the second rule is learnt on top of the first.
#[test]
fn rules_build_on_one_another() {
    let mut hygiene = hygiene();
    let url = |slug: &str, page: u64, query: &str| {
        format!("https://a.example/x/{slug}-{}.html{query}", 7_000_000 + page)
    };
    for page in 0..60 {
        fetch(&mut hygiene, &url("one", page, ""), page + 1000);
        fetch(&mut hygiene, &url("two", page, ""), page + 1000);
        fetch(&mut hygiene, &url("three", page, &format!("?wt_mc={page}")), page + 1000);
    }
    assert!(
        are_one(&hygiene, &url("a", 999, ""), &url("b", 999, "?wt_mc=q")),
        "{:#?}",
        hygiene.rules()
    );
}

/// A renamed article proposes its id, not the folders that were renamed with it.
#[test]
fn the_most_general_rule_explains_a_pair() {
    let mut hygiene = hygiene();
    let url =
        |folder: &str, page: u64| format!("https://a.example/{folder}/x-{}.html", 7_000_000 + page);
    crawl(
        &mut hygiene,
        |p| url("politics", p),
        |p| url(["sport", "money", "arts"][p as usize % 3], p),
    );
    let kinds: Vec<RuleKind> = hygiene.rules().iter().map(|rule| rule.kind).collect();
    assert_eq!(kinds, [RuleKind::Id]);
}

/// Texts that changed a little between two fetches are no evidence against a rule.
#[test]
fn texts_that_change_do_not_refute_a_rule() {
    let mut hygiene = hygiene();
    let url =
        |slug: &str, page: u64| format!("https://a.example/x/{slug}-{}.html", 7_000_000 + page);
    for page in 0..200u64 {
        let sketch: Vec<u64> = (1..9).map(|i| page << 16 | i).collect();
        hygiene.learn(&Seen::new(&url("one", page), Showed::page(2 * page + 10, &sketch)));
        // Every third text lost one or two of the hashes that are compared.
        let lost = if page % 3 == 0 { 1 + page as usize % 2 } else { 0 };
        let showed = Showed::page(2 * page + 11, &sketch[lost..]);
        hygiene.learn(&Seen::new(&url("two", page), showed));
    }
    assert!(are_one(&hygiene, &url("a", 999), &url("b", 999)), "{:#?}", hygiene.rules());
}

/// The same looks, but the parameter chooses the content, or the number is not the page's.
#[test]
fn what_matters_is_kept() {
    let mut hygiene = hygiene();
    for page in 0..60u64 {
        for view in 0..3 {
            let url = format!("https://a.example/story?p={page}&part={view}");
            fetch(&mut hygiene, &url, 1000 + 10 * page + view);
            // A few parts happen to be alike.
            let url = format!("https://a.example/b-{}/{view}-{}", page, 50_000 + page / 2);
            fetch(&mut hygiene, &url, if page % 10 == 0 { 77 } else { 5000 + 10 * page + view });
        }
    }
    assert!(hygiene.rules().iter().all(|rule| !rule.is_applied), "{:#?}", hygiene.rules());
}

#[test]
fn redirects_and_canonical_links_teach_rules() {
    let mut hygiene = hygiene();
    for page in 0..40 {
        let (from, to) = (
            format!("https://a.example/docs/x{page}-y"),
            format!("https://a.example/guide/api/x{page}-y"),
        );
        hygiene.learn(&Seen::new(&from, Showed::Moved(&to)));
    }
    assert!(are_one(&hygiene, "https://a.example/docs/new-1", "https://a.example/guide/api/new-1"));

    for page in 0..40 {
        let kept = format!("https://b.example/story?p={page}");
        let url = format!("{kept}&from=mail{page}");
        // The text differs from one fetch to the next; the canonical link tells.
        let showed = Showed::Page {
            identity: 5000 + page,
            sketch: &[],
            canonical: Some(&kept),
            is_copy: false,
        };
        hygiene.learn(&Seen::new(&url, showed));
    }
    assert!(are_one(
        &hygiene,
        "https://b.example/story?p=99&from=x",
        "https://b.example/story?p=99"
    ));
}

/// Most pages name themselves as canonical. That is no evidence for a rule that would unite them.
#[test]
fn a_page_that_names_itself_proves_no_rule() {
    let mut hygiene = hygiene();
    for page in 0..60u64 {
        for part in 0..3 {
            let url = format!("https://a.example/story?p={page}&part={part}");
            // The parts of every tenth story are alike, so that a rule is proposed.
            let text = if page % 10 == 0 { 10 * page } else { 10 * page + part };
            let showed = Showed::Page {
                identity: 1000 + text,
                sketch: &[],
                canonical: Some(&url),
                is_copy: false,
            };
            hygiene.learn(&Seen::new(&url, showed));
        }
    }
    assert!(hygiene.rules().iter().all(|rule| !rule.is_applied), "{:#?}", hygiene.rules());
}

/// Canonical links that name the front page are found out.
#[test]
fn a_host_whose_canonical_links_lie_is_not_believed() {
    let mut hygiene = hygiene();
    let front = "https://a.example/";
    fetch(&mut hygiene, front, 1);
    for page in 0..60 {
        let url = format!("https://a.example/story?p={page}");
        let showed = Showed::Page {
            identity: 5000 + page,
            sketch: &[],
            canonical: Some(front),
            is_copy: false,
        };
        hygiene.learn(&Seen::new(&url, showed));
    }
    assert!(
        !are_one(&hygiene, "https://a.example/story?p=999", "https://a.example/story?p=998"),
        "{:#?}",
        hygiene.rules()
    );
}

#[test]
fn a_rule_that_turns_false_is_taken_back_by_probes() {
    let mut hygiene = hygiene();
    let url =
        |slug: &str, page: u64| format!("https://a.example/x/{slug}-{}.html", 7_000_000 + page);
    crawl(&mut hygiene, |p| url("one", p), |p| url("two", p));
    assert!(are_one(&hygiene, &url("a", 999), &url("b", 999)));
    for page in 1000..1100 {
        fetch(&mut hygiene, &url("one", page), 2 * page);
        let alias = url("two", page);
        let seen = Seen::new(&alias, Showed::page(2 * page + 1, &[]));
        hygiene.learn(&Seen { known: Some((2 * page, &[])), ..seen });
    }
    assert!(!are_one(&hygiene, &url("a", 999), &url("b", 999)), "{:#?}", hygiene.rules());
}

#[test]
fn about_the_stated_share_of_aliases_are_probes() {
    let mut hygiene = hygiene();
    let url =
        |slug: &str, page: u64| format!("https://a.example/x/{slug}-{}.html", 7_000_000 + page);
    crawl(&mut hygiene, |p| url("one", p), |p| url("two", p));
    let met = 100_000;
    let probes =
        (0..met).filter(|&p| judge(&hygiene, &url("new", 1000 + p)).is_probe).count() as f64;
    let share = Settings::default().probes;
    let expected = share * met as f64;
    // Four standard errors of a binomial count.
    let error = 4.0 * (expected * (1.0 - share)).sqrt();
    assert!((probes - expected).abs() < error, "{probes} of {met}");
}

#[test]
fn an_operator_pins_and_vetoes() {
    let mut hygiene = hygiene();
    let url =
        |slug: &str, page: u64| format!("https://a.example/x/{slug}-{}.html", 7_000_000 + page);
    crawl(&mut hygiene, |p| url("one", p), |p| url("two", p));
    let rule = hygiene.rules().into_iter().find(|rule| rule.is_applied).unwrap().id;
    assert_eq!(hygiene.decide(rule, Some(ByHand::Vetoed)).as_deref(), Some("https://a.example"));
    assert!(!are_one(&hygiene, &url("a", 999), &url("b", 999)));
    hygiene.decide(rule, Some(ByHand::Pinned));
    let judgement = judge(&hygiene, &url("a", 999));
    assert_eq!((judgement.rule, judgement.chance), (Some(rule), 1.0));
    hygiene.spared(rule);
    let spared = |r: &RuleView| (r.id == rule).then_some(r.spared);
    assert_eq!(hygiene.rules().iter().find_map(spared), Some(1));
    hygiene.decide(rule, None);
    assert!(are_one(&hygiene, &url("a", 999), &url("b", 999)));
    assert_eq!(hygiene.decide(tidewatch_hygiene::RuleId(1), None), None);
}

/// After a crash a rule may be learnt again that the operator has decided about.
#[test]
fn decisions_hold_for_rules_that_are_learnt_later() {
    let url = |page: u64| format!("https://a.example/story?p={page}");
    let alias = |page: u64| format!("https://a.example/story?p={page}&ref=x{page}");
    let learnt = |by_hand: ByHand, pages: u64| {
        let mut first = hygiene();
        crawl(&mut first, url, alias);
        let rule = first.rules()[0].id;
        let mut again = hygiene();
        again.set_decided([(rule, by_hand)]);
        assert!(!again.has_rule(rule));
        for page in 0..pages {
            fetch(&mut again, &url(page), 1000 + page);
            fetch(&mut again, &alias(page), 1000 + page);
        }
        let bytes = postcard::to_stdvec(&again).unwrap();
        (again.rules()[0].clone(), postcard::from_bytes::<Hygiene>(&bytes).unwrap())
    };
    let (vetoed, _) = learnt(ByHand::Vetoed, FETCHES as u64);
    assert_eq!((vetoed.by_hand, vetoed.is_applied), (Some(ByHand::Vetoed), false), "{vetoed:?}");
    let (pinned, mut stored) = learnt(ByHand::Pinned, 1);
    assert_eq!((pinned.by_hand, pinned.is_applied), (Some(ByHand::Pinned), true), "{pinned:?}");
    stored.set_decided([]);
    assert_eq!(stored.rules()[0].by_hand, None, "taken back since");
}

/// The pages of a host that the operator named came later than a copy of them elsewhere.
#[test]
fn an_original_is_no_mirror_of_a_copy_that_was_crawled_first() {
    for is_original in [false, true] {
        let mut hygiene = hygiene();
        let path = |page: u64| format!("/story/of-{page}x");
        for page in 0..60 {
            fetch(&mut hygiene, &format!("https://copy.example{}", path(page)), 1000 + page);
        }
        for page in 0..60 {
            let url = format!("https://a.example{}", path(page));
            let showed = Showed::page(1000 + page, &[]);
            hygiene.learn(&Seen { is_original, ..Seen::new(&url, showed) });
        }
        let mirrors = hygiene.mirrors();
        assert_eq!(mirrors.is_empty(), is_original, "{mirrors:?}");
    }
    // The other scheme of an original may still be an alias of it.
    let mut hygiene = hygiene();
    for scheme in ["https", "http"] {
        for page in 0..60 {
            let url = format!("{scheme}://a.example/story/of-{page}x");
            let showed = Showed::page(1000 + page, &[]);
            hygiene.learn(&Seen { is_original: true, ..Seen::new(&url, showed) });
        }
    }
    let pair = ("http://a.example".to_owned(), "https://a.example".to_owned());
    assert_eq!(hygiene.mirrors(), [pair]);
}

/// The operator may allow less memory than was used before.
#[test]
fn a_smaller_bound_takes_effect_at_once() {
    let mut hygiene = hygiene();
    for host in 0..2000_u64 {
        for page in 0..20 {
            let url = format!("https://h{host}.example/story/of-{page}x");
            let sketch: Vec<u64> = (0..8).map(|n| host << 16 | page << 8 | n).collect();
            hygiene.learn(&Seen::new(&url, Showed::page(host << 8 | page | 1 << 40, &sketch)));
        }
    }
    let (beside, most) = (BESIDE, 1 << 20);
    assert!(hygiene.bytes() > beside + most, "{}", hygiene.bytes());
    hygiene.limit(most);
    assert!(hygiene.bytes() < beside + most, "{}", hygiene.bytes());
    assert!(hygiene.near_bytes() <= most / 4, "{}", hygiene.near_bytes());
}

#[test]
fn mirrors_are_learnt_and_parallel_sites_are_not() {
    let mut hygiene = hygiene();
    let path = |page: u64| format!("/p/of-{page}-it");
    for page in 0..60u64 {
        fetch(&mut hygiene, &format!("https://a.example{}", path(page)), 1000 + page);
        fetch(&mut hygiene, &format!("https://mirror.example{}", path(page)), 1000 + page);
        // The same software and some of the same texts, but a site of its own.
        let text = if page % 4 == 0 { 1000 + page } else { 9000 + page };
        fetch(&mut hygiene, &format!("https://other.example{}", path(page)), text);
    }
    assert!(
        are_one(&hygiene, "https://a.example/new", "https://mirror.example/new"),
        "{:#?}",
        hygiene.rules()
    );
    assert!(!are_one(&hygiene, "https://a.example/new", "https://other.example/new"));
}

/// A page's text in the frame of a site: the smallest eight of the hashes of both, as a crawler keeps them.
fn framed(text: u64, fragments: u64, frame: u64) -> Vec<u64> {
    let mix = |x: u64| {
        let x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 32)
    };
    let body = (0..fragments).map(|i| mix(text << 32 | i));
    let mut all: Vec<u64> = body.chain((0..6).map(|i| mix(frame << 48 | i))).collect();
    all.sort_unstable();
    all.truncate(8);
    all
}

/// The same texts in another frame: no identity is equal, and the resemblance is 24/36.
#[test]
fn a_mirror_in_a_frame_of_its_own_is_learnt() {
    let mut hygiene = hygiene();
    let fetch = |hygiene: &mut Hygiene, origin: &str, page: u64, text: u64, frame: u64| {
        let identity = text << 8 | frame;
        let sketch = framed(text, 24, frame);
        let url = format!("https://{origin}/p/of-{page}-it");
        hygiene.learn(&Seen::new(&url, Showed::page(identity, &sketch)));
    };
    for page in 0..80u64 {
        fetch(&mut hygiene, "a.example", page, 1000 + page, 1);
        fetch(&mut hygiene, "copy.example", page, 1000 + page, 2);
        // A site of its own that takes over every third text.
        let text = if page % 3 == 0 { 1000 + page } else { 9000 + page };
        fetch(&mut hygiene, "other.example", page, text, 3);
    }
    // One page that is dropped and fetched again and again is one page.
    for _ in 0..80 {
        fetch(&mut hygiene, "parked.example", 0, 1000, 4);
    }
    let pair = |one: &str, other: &str| (format!("https://{one}"), format!("https://{other}"));
    assert_eq!(hygiene.mirrors(), [pair("copy.example", "a.example")], "{:#?}", hygiene.rules());
}

/// Two hosts of which every page shows the host's one text: only the front pages are at the same path, and what
/// pages of one host have in common says nothing about the other.
#[test]
fn hosts_of_one_text_each_are_no_mirrors() {
    let mut hygiene = hygiene();
    for page in 0..60u64 {
        for host in ["one", "two"] {
            let path = if page == 0 { String::new() } else { format!("{host}-{page}x") };
            fetch(&mut hygiene, &format!("https://{host}.example/{path}"), 7);
        }
    }
    assert!(hygiene.mirrors().is_empty(), "{:#?}", hygiene.rules());
}

/// Pages that nearly repeat those of other hosts bring nothing, whatever their paths. Every section of a site
/// has a frame of its own, so that chance does not strike all pages alike.
#[test]
fn pages_that_repeat_other_hosts_are_doubted() {
    let mut hygiene = hygiene();
    for page in 0..60u64 {
        // Twelve fragments of two hundred and twelve differ, so hardly a whole sketch is equal.
        let sketch = framed(1000 + page, 200, 2 * page);
        let of = format!("https://a.example/story/of-{page}-it");
        hygiene.learn(&Seen::new(&of, Showed::page(10_000 + page, &sketch)));
        let sketch = framed(1000 + page, 200, 2 * page + 1);
        let copy = format!("https://b.example/taken/over-{page}-x");
        hygiene.learn(&Seen::new(&copy, Showed::page(20_000 + page, &sketch)));
    }
    let copy = judge(&hygiene, "https://b.example/taken/over-999-x");
    assert!(copy.doubt > 0.6 && copy.detector == Detector::Fruitless, "{copy:?}");
    let story = judge(&hygiene, "https://a.example/story/of-999-it");
    assert!(story.doubt < 0.1, "{story:?}");
}

/// The share of the clicks that do not come is the share of the value that is doubted, on top of what
/// repeats.
#[test]
fn a_template_that_brings_no_clicks_is_doubted() {
    let mut hygiene = hygiene();
    let (babble, story) = (
        |page: u64| format!("https://a.example/babble/of-{page}-it"),
        |page: u64| format!("https://b.example/story/of-{page}-it"),
    );
    for page in 0..200u64 {
        fetch(&mut hygiene, &babble(page), 1000 + page);
        fetch(&mut hygiene, &story(page), 5000 + page);
        hygiene.came(&Met::new(&babble(page)), 0.2, 0.0);
        hygiene.came(&Met::new(&story(page)), 0.2, 0.2);
    }
    let trap = judge(&hygiene, &babble(999));
    assert!(trap.doubt > 0.9 && trap.detector == Detector::Worthless, "{trap:?}");
    let good = judge(&hygiene, &story(999));
    assert!(good.doubt < 0.1, "{good:?}");
}

#[test]
fn a_template_of_copies_is_doubted_and_its_neighbour_is_not() {
    let mut hygiene = hygiene();
    for page in 0..100u64 {
        fetch(&mut hygiene, &format!("https://a.example/calendar/2022/{page}"), 5);
        fetch(&mut hygiene, &format!("https://a.example/story/of-{page}-it"), 1000 + page);
    }
    let trap = judge(&hygiene, "https://a.example/calendar/2031/7");
    assert!(trap.doubt > 0.9 && trap.detector != Detector::None, "{trap:?}");
    let story = judge(&hygiene, "https://a.example/story/of-999-it");
    assert!(story.doubt < 0.1, "{story:?}");
}

#[test]
fn what_is_learnt_survives_in_bytes() {
    let mut hygiene = hygiene();
    let url =
        |slug: &str, page: u64| format!("https://a.example/x/{slug}-{}.html", 7_000_000 + page);
    crawl(&mut hygiene, |p| url("one", p), |p| url("two", p));
    let bytes = postcard::to_stdvec(&hygiene).unwrap();
    let again: Hygiene = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(again.rules(), hygiene.rules());
    let met = url("new", 4);
    assert_eq!(judge(&again, &met), judge(&hygiene, &met));
}

#[test]
fn memory_stays_below_its_bound() {
    let settings = Settings { bytes: 2 << 20, ..Settings::default() };
    let mut hygiene = Hygiene::new(settings);
    let mut most_a_host = 0;
    for host in 0..60u64 {
        let before = hygiene.bytes();
        for page in 0..3000u64 {
            let url = format!(
                "https://h{host}.example/a/some-long-title-of-{page}-{}.html",
                7_000_000 + page / 2
            );
            fetch(&mut hygiene, &url, 1_000_000 * host + page / 2);
        }
        most_a_host = most_a_host.max(hygiene.bytes().saturating_sub(before));
    }
    assert!(hygiene.bytes() < settings.bytes + BESIDE, "{}", hygiene.bytes());
    assert!(most_a_host > 0);
}
