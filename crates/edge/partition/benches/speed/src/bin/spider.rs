//! The `spider` crate on the same pages: `spider PORT HOSTS`. Prints the pages fetched.

use spider::website::Website;
use tidewatch_speed::{numbers, pages_of};

async fn crawl(host: String) -> usize {
    let mut site = Website::new(&format!("http://{host}/"));
    site.with_respect_robots_txt(true);
    site.crawl().await;
    site.get_all_links_visited().await.len()
}

#[tokio::main]
async fn main() {
    let [port, hosts] = numbers("spider PORT HOSTS");
    println!("{}", pages_of(port, hosts, crawl).await);
}
