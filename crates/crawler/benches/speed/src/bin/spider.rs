//! The `spider` crate on the same pages: `spider PORT HOSTS`. Prints the pages fetched.

use spider::website::Website;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let port = args.next().expect("a port");
    let hosts: usize = args.next().and_then(|n| n.parse().ok()).expect("a number of hosts");
    let mut tasks = tokio::task::JoinSet::new();
    for host in 1..=hosts {
        let url = format!("http://127.0.1.{host}:{port}/");
        tasks.spawn(async move {
            let mut site = Website::new(&url);
            site.with_respect_robots_txt(true);
            site.crawl().await;
            site.get_all_links_visited().await.len()
        });
    }
    let mut pages = 0;
    while let Some(done) = tasks.join_next().await {
        pages += done.expect("no panic");
    }
    println!("{pages}");
}
