//! Every order on small webs told by hand.

use tidewatch_core::{
    Asked, Content, Discovery, Event, FetchKind, HostId, Interest, InterestKind, LinkSeen,
    Observation, Outcome, PageId, PageKey, Span, Time,
};
use tidewatch_math::Draws;

use super::*;
use crate::{AlwaysOpen, Choice, Gate, Policy, Setup, registry};

/// Sums of sixty numbers below 1, some thousand times over: 10⁵ roundings of 10⁻¹⁶.
const ROUNDING: f64 = 1e-11;

/// A frozen web that tells a policy what it fetches.
struct Web {
    links: Vec<Vec<u32>>,
    hosts: Vec<u32>,
    anchors: Vec<String>,
    /// Page of the web → number in the crawl.
    ids: Vec<Option<PageId>>,
    /// And back.
    pages: Vec<u32>,
    fetched: Vec<bool>,
    clock: u64,
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::SECOND.times(seconds)
}

impl Web {
    fn new(links: &[&[u32]]) -> Self {
        let n = links.len();
        Web {
            links: links.iter().map(|list| list.to_vec()).collect(),
            hosts: vec![0; n],
            anchors: vec![String::new(); n],
            ids: vec![None; n],
            pages: Vec::new(),
            fetched: vec![false; n],
            clock: 0,
        }
    }

    fn discover(
        &mut self,
        policy: &mut dyn Policy,
        page: u32,
        via: Option<PageId>,
    ) -> (PageId, bool) {
        if let Some(id) = self.ids[page as usize] {
            return (id, false);
        }
        let id = PageId(self.pages.len() as u32);
        self.ids[page as usize] = Some(id);
        self.pages.push(page);
        let url = format!(
            "https://h{}.example/{}/{page}",
            self.hosts[page as usize], self.anchors[page as usize]
        );
        policy.learn(&Event::Discovered(Discovery {
            page: id,
            host: HostId(self.hosts[page as usize]),
            key: PageKey::of(&url),
            url: &url,
            at: at(self.clock),
            via,
            is_source: false,
            is_held: false,
            weight: 1.0,
        }));
        (id, true)
    }

    fn fetch(&mut self, policy: &mut dyn Policy, id: PageId) -> u32 {
        self.clock += 1;
        let page = self.pages[id.index()];
        let shown: Vec<LinkSeen> = self.links[page as usize]
            .clone()
            .into_iter()
            .map(|to| {
                let (page, is_new) = self.discover(policy, to, Some(id));
                LinkSeen { page, is_new }
            })
            .collect();
        let anchors: Vec<&str> = self.links[page as usize]
            .iter()
            .map(|&to| self.anchors[to as usize].as_str())
            .collect();
        let previous = self.fetched[page as usize].then(|| at(self.clock - 1));
        self.fetched[page as usize] = true;
        let content = Content { links: &shown, anchors: &anchors, ..Content::default() };
        policy.learn(&Event::Fetched(Observation {
            page: id,
            at: at(self.clock),
            kind: FetchKind::Frontier,
            previous,
            outcome: Outcome::Fetched(content),
        }));
        page
    }

    /// Pages in the order in which the policy fetches them, starting from seed 0.
    fn crawl(&mut self, policy: &mut dyn Policy, fetches: usize) -> Vec<u32> {
        if self.pages.is_empty() {
            self.discover(policy, 0, None);
        }
        let mut order = Vec::new();
        while order.len() < fetches {
            match policy.choose(at(self.clock + 1), &AlwaysOpen) {
                Choice::Fetch(id) => order.push(self.fetch(policy, id)),
                Choice::Idle => break,
            }
        }
        order
    }
}

fn ranked(order: impl Order + 'static) -> Box<dyn Policy> {
    Box::new(Ranked::new(order, 1))
}

#[test]
fn link_orders_prefer_linked_pages() {
    // 0 → 1, 2, 3; 1 → 4; 2 → 4, 5; so after 0, 1, 2 and 3 page 4 has two links, 5 has one.
    let web: &[&[u32]] = &[&[1, 2, 3], &[5], &[4, 5], &[], &[], &[]];
    let orders: [Box<dyn Policy>; 4] = [
        ranked(InDegree),
        ranked(PageRankOrder::default()),
        ranked(Opic::once()),
        ranked(RankMass::default()),
    ];
    for mut policy in orders {
        let order = Web::new(web).crawl(policy.as_mut(), 10);
        assert_eq!(order.len(), 6, "each page once: {order:?}");
        let place = |page| order.iter().position(|&p| p == page).unwrap();
        assert!(place(5) < place(4), "{order:?}");
    }
}

/// Pages 2 to 21 are one site made from a template, each linking to all, found from seed 0. Seed 1 has
/// the rest of the web behind it, and no page links to it. A walk that begins at every known page keeps
/// the crawl on the site; one that begins at the seeds does not.
#[test]
fn a_walk_that_begins_everywhere_stays_where_the_crawl_began() {
    let site: Vec<u32> = (2..22).collect();
    let rest: Vec<u32> = (22..42).collect();
    let mut links: Vec<&[u32]> = vec![&site[..2], &rest];
    links.extend(site.iter().map(|_| &site[..]));
    links.extend(rest.iter().map(|_| &[][..]));
    let place_of_seed = |order: PageRankOrder| {
        let (mut web, mut policy) = (Web::new(&links), ranked(order));
        web.discover(policy.as_mut(), 0, None);
        web.discover(policy.as_mut(), 1, None);
        let order = web.crawl(policy.as_mut(), 42);
        order.iter().position(|&page| page == 1).unwrap()
    };
    assert!(place_of_seed(PageRankOrder::default()) <= 1);
    assert!(place_of_seed(PageRankOrder::uniform()) >= 20);
}

/// 0 links to 1 and 2 of its own host; 3, a seed of another host, links to 2 and 4.
#[test]
fn links_of_the_same_host_do_not_count_as_foreign() {
    let mut web = Web::new(&[&[1, 2], &[], &[], &[4, 2], &[]]);
    web.hosts = vec![0, 0, 0, 1, 1];
    let mut policy = ranked(ForeignInDegree::default());
    web.discover(policy.as_mut(), 0, None);
    web.discover(policy.as_mut(), 3, None);
    assert_eq!(web.crawl(policy.as_mut(), 3)[2], 2);
}

#[test]
fn breadth_first_is_the_order_of_discovery() {
    let order = Web::new(&[&[1, 2], &[3], &[4], &[], &[]]).crawl(ranked(Breadth).as_mut(), 9);
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn rank_mass_is_a_lower_bound_that_grows_to_all() {
    let mut draws = Draws::of(5, "frontier.test", 0);
    let lists: Vec<Vec<u32>> =
        (0..60).map(|_| (0..4).map(|_| draws.below(60) as u32).collect()).collect();
    let refs: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let mut policy = Ranked::new(RankMass::default(), 1);
    let mut web = Web::new(&refs);
    let mut last = 0.0;
    for _ in 0..60 {
        web.crawl(&mut policy, 1);
        let bound = policy.order().bound();
        let (lying, _) = policy.order().lying();
        // No page is dangling (its links would all be to itself), so mass is bound or lies somewhere.
        assert!((bound + lying - 1.0).abs() < ROUNDING, "{bound} and {lying}");
        assert!(bound >= last, "{bound} after {last}");
        last = bound;
    }
    // Everything is fetched. Further visits pass on what is still moving; then every page keeps
    // less than a grain, and all the rest is bound.
    let mut visits = 0;
    while policy.order().lying().1 > 0.0 && visits < 100 {
        web.fetch(&mut policy, PageId(0));
        visits += 1;
    }
    let bound = policy.order().bound();
    assert!(1.0 - bound < 60.0 * super::links::GRAIN + ROUNDING, "{bound} after {visits} visits");
}

/// Every host is closed.
struct Shut;

impl Gate for Shut {
    fn opens_at(&self, _: HostId) -> Time {
        Time::NEVER
    }
}

#[test]
fn large_sites_come_first_and_gates_are_kept() {
    // Host 0 has the seed and two pages, host 1 has four.
    let mut web = Web::new(&[&[1, 2, 3, 4, 5, 6], &[], &[], &[], &[], &[], &[]]);
    web.hosts = vec![0, 0, 0, 1, 1, 1, 1];
    let mut policy = SiteSize::default();
    assert_eq!(web.crawl(&mut policy, 9), [0, 3, 4, 1, 5, 2, 6]);
    for entry in registry::POLICIES {
        let mut policy = (entry.make)(Setup::seeded(1));
        Web::new(&[&[], &[]]).discover(policy.as_mut(), 0, None);
        let choice = policy.choose(at(1), &Shut);
        assert_eq!(choice, Choice::Idle, "{}", entry.name);
    }
}

#[test]
fn every_order_fetches_everything_once_and_the_same_twice() {
    let mut draws = Draws::of(9, "frontier.test", 0);
    // A chain keeps everything reachable, random links make it a web.
    let lists: Vec<Vec<u32>> = (0..300_u32)
        .map(|i| {
            [(i + 1) % 300].into_iter().chain((0..5).map(|_| draws.below(300) as u32)).collect()
        })
        .collect();
    let refs: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let first_fetches_only = |name: &str| !["opic-refresh", "spawning-rate"].contains(&name);
    let orders = registry::POLICIES.iter().skip_while(|e| e.name != "frontier-random");
    for entry in orders.take_while(|e| e.name != "curve-fit") {
        let run = || {
            let mut policy = (entry.make)(Setup::seeded(3));
            let mut web = Web::new(&refs);
            web.anchors = (0..300).map(|i| format!("word{} topic{}", i % 7, i % 3)).collect();
            let asked = [Asked { words: "word3 topic1", count: 5.0, need: 1.0 }];
            policy.learn(&Event::Asked(&asked));
            let mut order = web.crawl(policy.as_mut(), 100);
            let rows: Vec<Interest> = (0..40)
                .map(|i| Interest {
                    page: PageId(i),
                    at: at(i.into()),
                    count: 2.0,
                    kind: InterestKind::Click,
                })
                .collect();
            policy.learn(&Event::Log(&rows));
            order.extend(web.crawl(policy.as_mut(), 3000));
            order
        };
        let order = run();
        assert_eq!(order, run(), "{} is not deterministic", entry.name);
        let mut pages = order.clone();
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len(), 300, "{} left pages out", entry.name);
        if first_fetches_only(entry.name) {
            assert_eq!(order.len(), 300, "{} fetched pages again", entry.name);
        }
    }
}

#[test]
fn clicks_lead_the_walk_to_what_clicked_pages_link_to() {
    // 1 and 2 are alike but for clicks; 1 leads to 3…5, 2 to 6…8.
    let mut web = Web::new(&[&[1, 2], &[3, 4, 5], &[6, 7, 8], &[], &[], &[], &[], &[], &[]]);
    let mut policy = Ranked::new(ImpactOrder::rw(), 1);
    web.crawl(&mut policy, 3);
    let clicked = web.ids[2].unwrap();
    let row = Interest { page: clicked, at: at(3), count: 50.0, kind: InterestKind::Click };
    policy.learn(&Event::Log(&[row]));
    assert_eq!(web.crawl(&mut policy, 3), [6, 7, 8]);
}

#[test]
fn queries_lead_to_pages_that_answer_them_and_dry_up() {
    let mut web = Web::new(&[&[1, 2, 3, 4], &[], &[], &[], &[]]);
    web.anchors = ["", "blue sky", "red fish", "red fish", "tall tree"].map(str::to_owned).to_vec();
    let mut policy = Ranked::new(QueryOrder::overlap(), 1);
    let asked = |words, count| Asked { words, count, need: 1.0 };
    policy.learn(&Event::Asked(&[asked("red fish", 10.0), asked("tall tree", 6.0)]));
    // The second page for the same query is worth half: then the tree comes first.
    assert_eq!(web.crawl(&mut policy, 9), [0, 2, 4, 3, 1]);
}

#[test]
fn scoped_orders_keep_to_the_topic() {
    // From 0: 1 (off topic) leads to off-topic pages, 2 (on topic) to on-topic ones.
    let links: &[&[u32]] = &[&[1, 2], &[3, 4, 5], &[6, 7, 8], &[], &[], &[], &[], &[], &[]];
    let words = ["", "rock", "fish", "rock", "rock", "rock", "fish", "fish", "fish"];
    let topic = || Topic::of("fish");
    let orders: [Box<dyn Policy>; 3] = [
        ranked(FishSearch::new(topic())),
        ranked(SharkSearch::new(topic())),
        ranked(Classifier::new(Some(topic()))),
    ];
    for (i, mut policy) in orders.into_iter().enumerate() {
        let mut web = Web::new(links);
        web.anchors = words.map(str::to_owned).to_vec();
        let order = web.crawl(policy.as_mut(), 9);
        let place = |page: u32| order.iter().position(|&p| p == page).unwrap();
        let mean = |pages: [u32; 3]| pages.map(|p| place(p) as f64).iter().sum::<f64>() / 3.0;
        assert!(mean([6, 7, 8]) < mean([3, 4, 5]), "order {i}: {order:?}");
    }
}

#[test]
fn pages_that_spawn_are_watched_more() {
    let mut policy = SpawningRate::default();
    let mut web = Web::new(&vec![&[][..]; 400]);
    web.links[0] = vec![1, 2];
    web.crawl(&mut policy, 3);
    // Page 1 shows a new page at every visit, page 2 never.
    let mut next = 3;
    let mut visits = [0, 0];
    for _ in 0..300 {
        for page in web.crawl(&mut policy, 1) {
            if page == 1 && next < 400 {
                web.links[1].push(next);
                next += 1;
            }
            if page == 1 || page == 2 {
                visits[page as usize - 1] += 1;
            }
        }
    }
    assert!(visits[0] > 3 * visits[1], "{visits:?}");
}
