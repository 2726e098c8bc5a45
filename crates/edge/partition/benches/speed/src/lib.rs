//! What the programs of this comparison share.

/// The numbers that the program was started with. Says how to start it, and ends it, if there are
/// fewer or they are none.
pub fn numbers<const N: usize>(usage: &str) -> [usize; N] {
    let given: Vec<usize> = std::env::args().skip(1).map_while(|n| n.parse().ok()).collect();
    given.try_into().unwrap_or_else(|_| {
        eprintln!("usage: {usage}");
        std::process::exit(2)
    })
}

/// The name of a host, counted from 1.
pub fn name(number: usize) -> String {
    format!("127.0.1.{number}")
}

/// The name and port of a host.
pub fn host(number: usize, port: usize) -> String {
    format!("{}:{port}", name(number))
}

/// Runs one task a host and adds up the pages that they fetched.
pub async fn pages_of<F>(port: usize, hosts: usize, crawl: fn(String) -> F) -> usize
where
    F: Future<Output = usize> + Send + 'static,
{
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=hosts {
        tasks.spawn(crawl(host(number, port)));
    }
    tasks.join_all().await.into_iter().sum()
}
