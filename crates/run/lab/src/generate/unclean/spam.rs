//! Hosts that are nothing but waste: parked names and link farms. Readers' comments under articles link
//! to them.

use tidewatch_core::Time;
use tidewatch_trace::TruthClass;

use super::web::Web;
use crate::generate::echo::words;

/// Pages of a parked host.
const PARKED_PAGES: u64 = 12;
/// Links from a parked page to others, half of them to other hosts.
const PARKED_LINKS: u64 = 4;
/// Links from a page of a farm to pages of any host of it.
const FARM_LINKS: u64 = 10;
/// Comments under articles that link to each host.
const COMMENTS: u64 = 3;

/// Adds parked hosts and farms.
pub(super) fn add(web: &mut Web<'_>) {
    let hosts = web.trace.hosts.len() as f64;
    let articles: Vec<u32> = (0..web.len())
        .filter(|&page| !web.row(page).is_source && web.truth(page).class == TruthClass::Own)
        .collect();
    let parked = (web.config.parked * hosts).round() as u64;
    let farms = (web.config.farms * hosts).round() as u64;
    let pages = u64::from(web.config.farm_pages);
    for (label, class, hosts, pages, links) in [
        ("parked", TruthClass::Parked, parked, PARKED_PAGES, PARKED_LINKS),
        ("best", TruthClass::Farm, farms, pages, FARM_LINKS),
    ] {
        let made: Vec<Vec<u32>> =
            (0..hosts).map(|number| host(web, label, class, number, pages)).collect();
        interlink(web, &made, links);
        comment(web, &made, &articles);
    }
}

fn host(web: &mut Web<'_>, label: &str, class: TruthClass, number: u64, pages: u64) -> Vec<u32> {
    let mut draws = web.draws("unclean.spam", number ^ (class as u64) << 32);
    let [one, two] = words::fillers(&mut draws);
    let name = format!("{label}-{one}-{two}-{number}.example");
    let origin = format!("https://{name}");
    let host = web.add_host(name, None);
    let page = |page: u64| {
        let [one, two] = words::fillers(&mut draws);
        let path = if page == 0 { String::new() } else { format!("{one}-{two}") };
        web.add(format!("{origin}/{path}"), host, Time::ZERO, class)
    };
    let mut made: Vec<u32> = (0..pages).map(page).collect();
    made.dedup();
    made
}

/// Half of the links stay on the host, half lead to any host.
fn interlink(web: &mut Web<'_>, hosts: &[Vec<u32>], links: u64) {
    for own in hosts {
        for &page in own {
            let mut draws = web.draws("unclean.spam-link", u64::from(page));
            for number in 0..links {
                let other = &hosts[draws.below(hosts.len() as u64) as usize];
                let among = if number % 2 == 0 { own } else { other };
                let target = among[draws.below(among.len() as u64) as usize];
                if target != page {
                    web.link(page, target, Time::ZERO);
                }
            }
        }
    }
}

fn comment(web: &mut Web<'_>, hosts: &[Vec<u32>], articles: &[u32]) {
    for own in hosts {
        let mut draws = web.draws("unclean.comment", u64::from(own[0]));
        for _ in 0..COMMENTS {
            let article = articles[draws.below(articles.len() as u64) as usize];
            let target = own[draws.below(own.len() as u64) as usize];
            web.link(article, target, Time::ZERO);
        }
    }
}
