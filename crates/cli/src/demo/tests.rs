//! The whole demo, briefly: real sockets, real time.

use std::collections::HashSet;

use tidewatch_web::Served;

use super::*;

/// Long enough for a few hundred requests on a busy machine.
const BRIEFLY: &str = "3s";

fn args() -> DemoArgs {
    DemoArgs {
        duration: BRIEFLY.parse().unwrap(),
        listen: "127.0.0.1:0".parse().unwrap(),
        hosts: 12,
        seed: 7,
        policy: "bfs".to_owned(),
        budget: "60/s".parse().unwrap(),
        json: false,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

#[test]
fn a_short_demo_fetches_politely_and_is_judged() {
    let (summary, log, site) = runtime().block_on(async {
        let demo = Demo::prepare(&args()).await.unwrap();
        let site = demo.site.clone();
        let (summary, log) = demo.run(std::future::pending()).await.unwrap();
        (summary, log, site)
    });
    let requests = log.requests();
    let fetched: u64 = summary.fetches.values().sum();
    assert!(fetched > 0 && summary.pages_held > 0, "{summary:?}");
    // What is under way at the end is answered but not counted.
    assert!(summary.requests as usize <= requests.len());
    assert!(requests.len() <= summary.requests as usize + 2 * PARALLEL);
    assert_eq!(log.counters().lost, 0);
    assert!(log.most_connections().iter().all(|&most| most <= 1), "{:?}", log.most_connections());
    for request in &requests {
        let host = request.host.expect("only hosts that are served are asked for");
        assert!(site.allows(host, &request.path), "{}", request.path);
        assert_ne!(request.served, Served::Private);
    }
    let mut asked = HashSet::new();
    for request in &requests {
        if asked.insert(request.host) {
            assert_eq!(&*request.path, "/robots.txt", "it comes first");
        }
    }
    for host in asked.into_iter().flatten() {
        let times: Vec<_> = requests.iter().filter(|r| r.host == Some(host)).collect();
        for pair in times.windows(2) {
            assert!(pair[1].began >= pair[0].ended + HOST_GAP, "{pair:?}");
        }
    }
    assert!(summary.freshness.is_some_and(|f| f > 0.0 && f <= 1.0), "{summary:?}");
    let (profit, bound) = (summary.profit_per_s.unwrap(), summary.profit_bound_per_s.unwrap());
    assert!((0.0..=bound).contains(&profit), "{profit} of {bound}");
    assert!(summary.is_over && summary.real_s >= 3.0);
}

#[test]
fn an_early_stop_still_has_figures() {
    let summary = runtime().block_on(async {
        let demo = Demo::prepare(&args()).await.unwrap();
        let stop = tokio::time::sleep(Duration::from_millis(1500));
        demo.run(stop).await.unwrap().0
    });
    assert!(summary.real_s < 3.0, "{}", summary.real_s);
    assert!(summary.freshness.is_some());
}

#[test]
fn the_status_page_is_served_while_it_runs() {
    let (html, json) = runtime().block_on(async {
        let demo = Demo::prepare(&args()).await.unwrap();
        let address = demo.page.address;
        let (done, asked) = tokio::sync::oneshot::channel();
        let reader = async move {
            tokio::time::sleep(Duration::from_millis(1200)).await;
            let get = |path| CanonicalUrl::parse(&format!("http://127.0.0.1{path}")).unwrap();
            let html = client::get(&get("/"), address, None).await.unwrap();
            let json = client::get(&get("/status.json"), address, None).await.unwrap();
            let _ = done.send(());
            (html, json)
        };
        let stop = async {
            let _ = asked.await;
        };
        tokio::join!(reader, async { demo.run(stop).await.unwrap() }).0
    });
    assert_eq!((html.status, json.status), (200, 200));
    assert!(html.headers.contains_key("refresh"));
    assert!(std::str::from_utf8(&html.body).unwrap().contains("The demo is running."));
    let json: serde_json::Value = serde_json::from_slice(&json.body).unwrap();
    assert_eq!(json["policy"], "bfs");
    assert!(json["requests"].as_u64().is_some_and(|n| n > 0), "{json}");
}

#[test]
fn a_busy_port_and_bad_settings_are_one_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let refuse = |args: DemoArgs| {
        let refused = runtime().block_on(async {
            Demo::prepare(&args).await?.run(std::future::ready(())).await.map(|_| ())
        });
        format!("{:#}", refused.unwrap_err())
    };
    let busy = refuse(DemoArgs { listen, ..args() });
    assert!(busy.contains(&listen.to_string()) && busy.contains("--listen"), "{busy}");
    let policy = refuse(DemoArgs { policy: "magic".into(), ..args() });
    assert!(
        policy.starts_with("there is no policy 'magic'; choose one of random, bfs"),
        "{policy}"
    );
    assert!(refuse(DemoArgs { budget: Rate::ZERO, ..args() }).contains("--budget"));
    assert!(refuse(DemoArgs { duration: Span::ZERO, ..args() }).contains("--for"));
}
