//! The whole demo, briefly: real sockets, real time.

use std::collections::HashSet;

use serde_json::Value;
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
        dir: None,
        ignore_clicks: false,
        json: false,
        serve: ListenArgs { token_file: None, names: Vec::new(), proxied: false },
    }
}

fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

fn figures(summary: &Summary) -> Value {
    serde_json::to_value(summary).unwrap()
}

#[test]
fn a_short_demo_fetches_politely_and_is_judged() {
    let runtime = runtime();
    let demo = Demo::prepare(&args(), &runtime).unwrap();
    let site = demo.site.clone();
    let (summary, log) = demo.run(&runtime).unwrap();
    let requests = log.requests();
    let figures = figures(&summary);
    let fetched: u64 =
        figures["fetches"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(fetched > 0 && figures["pages_held"].as_u64() > Some(0), "{figures}");
    // What is under way at the end is answered but not counted.
    let counted = figures["requests"].as_u64().unwrap() as usize;
    assert!((counted..=counted + PARALLEL).contains(&requests.len()), "{figures}");
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
    let gap = Duration::from_micros(HOST_GAP.as_micros());
    for host in asked.into_iter().flatten() {
        let times: Vec<_> = requests.iter().filter(|r| r.host == Some(host)).collect();
        for pair in times.windows(2) {
            assert!(pair[1].began >= pair[0].ended + gap, "{pair:?}");
        }
    }
    let figure = |name: &str| figures[name].as_f64().unwrap();
    assert!(figure("freshness") > 0.0 && figure("freshness") <= 1.0, "{figures}");
    assert!((0.0..=figure("profit_bound_per_s")).contains(&figure("profit_per_s")), "{figures}");
    assert!(figures["is_over"] == true && figure("real_s") >= 3.0);
}

#[test]
fn an_early_stop_still_has_figures() {
    let runtime = runtime();
    let demo = Demo::prepare(&args(), &runtime).unwrap();
    let handle = demo.service.handle();
    runtime.spawn(async move {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        handle.stop();
    });
    let (summary, _) = demo.run(&runtime).unwrap();
    let figures = figures(&summary);
    assert!(figures["real_s"].as_f64() < Some(3.0) && figures["freshness"].is_f64(), "{figures}");
}

/// A page of the demo's server: head and body.
fn get(at: SocketAddr, path: &str) -> (String, String) {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(at).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn the_dashboard_is_served_while_the_demo_runs() {
    let runtime = runtime();
    let demo = Demo::prepare(&args(), &runtime).unwrap();
    let (at, handle) = (demo.service.address().unwrap(), demo.service.handle());
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        let read = (get(at, "/dashboard"), get(at, "/status.json"));
        handle.stop();
        read
    });
    demo.run(&runtime).unwrap();
    let (html, json) = reader.join().unwrap();
    assert!(html.0.starts_with("HTTP/1.1 200") && json.0.starts_with("HTTP/1.1 200"));
    assert!(html.0.contains("content-security-policy: default-src 'none'"), "{}", html.0);
    assert!(html.1.contains("The crawl is running"), "{}", html.1);
    let json: serde_json::Value = serde_json::from_str(&json.1).unwrap();
    assert_eq!(json["policy"], "bfs");
    assert!(json["demo"]["requests"].as_u64().is_some_and(|n| n > 0), "{json}");
}

#[test]
fn a_busy_port_and_bad_settings_are_one_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let runtime = runtime();
    let refuse = |args: DemoArgs| {
        let refused = Demo::prepare(&args, &runtime).map(|_| ());
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

/// The freshness that the crawl tells, against the referee, who knows the truth: on the living web, where
/// nobody tells the policy anything. Twice the margin is four standard errors.
#[test]
fn the_freshness_told_agrees_with_the_truth() {
    let runtime = runtime();
    let demo = Demo::prepare(&DemoArgs { policy: "price".into(), ..args() }, &runtime).unwrap();
    let (summary, _) = demo.run(&runtime).unwrap();
    let figures = figures(&summary);
    let figure = |name: &str| figures.pointer(name).and_then(Value::as_f64).unwrap();
    let (told, margin) = (figure("/freshness_told/share"), figure("/freshness_told/margin"));
    let truth = figure("/fresh_now");
    assert!((told - truth).abs() <= 2.0 * margin, "{told} ± {margin}, in truth {truth}");
}
