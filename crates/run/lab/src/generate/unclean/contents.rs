//! What pages say: fragments, so that equal content has equal hashes and similar content similar ones.
//!
//! A page is the frame of its host around a body. Repeats have the body of the page they repeat, in most
//! cases with the frame too. What classes share is what gives them away to a reader: all parked hosts have one
//! text, days of a calendar differ in a date, a folder has one error page. A maze gives nothing away.

use tidewatch_math::rng::{Draws, purpose};
use tidewatch_trace::{TruthClass, Versions};

use super::web::Web;

const FRAGMENT: u64 = purpose("unclean.fragment");
/// Fragments of a frame.
const FRAME: u64 = 6;
/// Fragments of a body, at least, and how many more at most.
const BODY: (u64, u64) = (12, 20);
/// Items of a list, and how many a facet shows at least and at most.
const ITEMS: u64 = 40;
const SHOWN: (u64, u64) = (10, 15);

/// Gives every page but sources one version.
pub(super) fn add(web: &mut Web<'_>) {
    let roles = web.roles();
    let mut versions = Versions::default();
    for page in (0..web.len()).filter(|&page| !web.row(page).is_source) {
        let mut fragments = body(web, page);
        let truth = web.truth(page);
        let host = if truth.class == TruthClass::Mirror { page } else { web.root(page) };
        fragments.extend(own(web, "frame", u64::from(web.frame(web.row(host).host)), FRAME));
        let shows_session = roles.get(web.row(page).host as usize).is_some_and(|r| r.shows_session);
        if truth.class == TruthClass::Session && shows_session {
            fragments.extend(own(web, "session", u64::from(page), 1));
        }
        fragments.sort_unstable();
        fragments.dedup();
        versions.push(page, web.row(page).born, &fragments, &[]);
    }
    web.trace.versions = Some(versions);
}

/// `count` fragments that belong to one item alone.
fn own(web: &Web<'_>, label: &str, item: u64, count: u64) -> impl Iterator<Item = u64> + use<> {
    let draws = Draws::keyed(web.seed, FRAGMENT ^ purpose(label), item);
    (0..count).map(move |number| draws.at(number))
}

fn body(web: &Web<'_>, page: u32) -> Vec<u64> {
    let root = web.root(page);
    let (item, host) = (u64::from(root), u64::from(web.row(root).host));
    let mut draws = web.draws("unclean.length", item);
    match web.truth(root).class {
        TruthClass::Facet => {
            let items: Vec<u64> = own(web, "item", host, ITEMS).collect();
            let shown = SHOWN.0 + draws.below(SHOWN.1 - SHOWN.0 + 1);
            (0..shown).map(|_| items[draws.below(ITEMS) as usize]).collect()
        }
        TruthClass::Calendar => own(web, "grid", host, 4).chain(own(web, "day", item, 1)).collect(),
        TruthClass::Parked => {
            let all = own(web, "parked", 0, 12).chain(own(web, "name", host, 2));
            all.chain(own(web, "page", item, 1)).collect()
        }
        TruthClass::Farm => own(web, "farm", 0, 4).chain(own(web, "page", item, 12)).collect(),
        TruthClass::Missing => own(web, "error", folder(web, root), 3).collect(),
        _ => own(web, "page", item, BODY.0 + draws.below(BODY.1)).collect(),
    }
}

/// A number for the folder that a page lies in.
fn folder(web: &Web<'_>, page: u32) -> u64 {
    purpose(web.row(page).url.rsplit_once('/').map_or("", |(folder, _)| folder))
}
