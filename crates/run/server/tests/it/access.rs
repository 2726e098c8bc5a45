//! Who may do what.

use tidewatch_server::ask::channel;
use tidewatch_server::routes::{Access, ROUTES};
use tidewatch_server::{Options, Server, ServerError};
use tokio::runtime::Runtime;

use crate::{Stage, TOKEN};

#[test]
fn whatever_changes_something_needs_the_token() {
    let stage = Stage::new(&[]);
    let changes: Vec<_> = ROUTES.iter().filter(|route| route.access == Access::Change).collect();
    assert!(!changes.is_empty());
    let basic = "Authorization: Basic eDphIHRva2VuIG9mIGVub3VnaCBjaGFyYWN0ZXJz";
    for route in &changes {
        let wrong = [
            "",
            "Authorization: Bearer",
            "Authorization: Bearer wrong",
            basic,
            "Authorization: a token of enough characters",
        ];
        for header in wrong {
            let headers: Vec<_> = [header].into_iter().filter(|h| !h.is_empty()).collect();
            let answer = stage.send(route.method, route.path, &headers);
            assert_eq!(answer.status, 401, "{} with {header}", route.path);
            assert!(answer.head.contains("www-authenticate: bearer"));
        }
        let right = format!("Authorization: Bearer {TOKEN}");
        let answer = stage.send(route.method, route.path, &[&right]);
        assert_eq!(answer.status, 400, "an empty body is no wish: {}", route.path);
    }
    // Every route with a method other than GET changes something, and no other does.
    for route in ROUTES {
        assert_eq!(route.method != "GET", route.access == Access::Change, "{}", route.path);
    }
}

#[test]
fn reading_is_open_on_this_machine_and_to_this_name_only() {
    let stage = Stage::new(&[]);
    for route in
        ROUTES.iter().filter(|route| route.method == "GET" && !route.path.contains("events"))
    {
        let path = route.path.replace("{name}", "x.html");
        let answer = stage.get(&path);
        assert_ne!(answer.status, 401, "{path}");
        assert_ne!(answer.status, 421, "{path}");
        for host in [
            "Host: evil.example",
            "Host: evil.example:80",
            "Host: localhost.evil.example",
            "Host: 203.0.113.7",
        ] {
            assert_eq!(stage.send("GET", &path, &[host]).status, 421, "{path} as {host}");
        }
    }
    for host in
        ["Host: search.example", "Host: SEARCH.example:7700", "Host: 127.0.0.1:1", "Host: [::1]"]
    {
        assert_eq!(stage.send("GET", "/", &[host]).status, 200, "{host}");
    }
}

#[test]
fn other_addresses_need_a_token_to_start_and_to_look() {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let open = |listen: &str, token: Option<&str>| {
        let options = Options { token: token.map(str::to_owned), ..Options::default() };
        Server::open(listen.parse().unwrap(), channel(1).0, options)
    };
    let refused = |listen, token| open(listen, token).err().map(|error| error.to_string());
    assert!(refused("0.0.0.0:0", None).unwrap().contains("--token-file"));
    assert!(refused("[::]:0", None).unwrap().contains("--token-file"));
    assert!(matches!(open("0.0.0.0:0", Some("short")), Err(ServerError::ShortToken)));
    let server = open("0.0.0.0:0", Some(TOKEN)).unwrap();
    let at = std::net::SocketAddr::from(([127, 0, 0, 1], server.address.port()));
    assert_eq!(crate::send(at, "GET", "/dashboard", &[]).status, 401);
    assert_eq!(crate::send(at, "GET", "/status.json", &[]).status, 401);
    let basic = "Authorization: Basic eDphIHRva2VuIG9mIGVub3VnaCBjaGFyYWN0ZXJz";
    assert_eq!(crate::send(at, "GET", "/dashboard", &[basic]).status, 200);
    assert_eq!(crate::send(at, "GET", "/opensearch.xml", &[]).status, 200, "searchers need none");
}

#[test]
fn every_answer_tells_browsers_what_they_may_do() {
    let stage = Stage::new(&[]);
    for path in ["/", "/search?q=x", "/dashboard", "/nowhere", "/api/search?q=x", "/go?t=x"] {
        let head = stage.get(path).head;
        assert!(
            head.contains(
                "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'"
            ),
            "{path}: {head}"
        );
        assert!(!head.contains("unsafe-inline"), "{path}");
        for header in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
        ] {
            assert!(head.contains(header), "{path}: {header}");
        }
        let body = stage.get(path).body;
        assert!(
            !body.contains("<style") && !body.contains(" style=") && !body.contains("onclick"),
            "{path}"
        );
    }
}

#[test]
fn the_description_names_every_route() {
    let stage = Stage::new(&[]);
    let answer = stage.get("/api/openapi.json");
    let described: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    for route in ROUTES {
        let operation = &described["paths"][route.path][route.method.to_lowercase()];
        assert_eq!(operation["summary"], route.about);
        assert_eq!(operation["responses"]["401"].is_object(), route.access != Access::Public);
    }
}

#[test]
fn reports_are_shown_and_nothing_else_of_the_disk() {
    let stage = Stage::new(&[]);
    std::fs::create_dir(stage.dir.path().join("reports")).unwrap();
    std::fs::write(stage.dir.path().join("reports/a.html"), "<p>report").unwrap();
    std::fs::write(stage.dir.path().join("secret.html"), "secret").unwrap();
    assert!(stage.get("/dashboard/reports").body.contains("a.html"));
    let answer = stage.get("/dashboard/reports/a.html");
    assert!(answer.status == 200 && answer.head.contains("sandbox"));
    for path in ["..%2Fsecret.html", "%2e%2e%2fsecret.html", "../secret.html", "....//secret.html"]
    {
        let answer = stage.get(&format!("/dashboard/reports/{path}"));
        assert!(answer.status == 404 && !answer.body.contains("secret\n"), "{path}");
    }
}

/// RFC 9112 §3.2: a request with two Host headers is refused, since servers read different ones.
#[test]
fn a_request_for_two_hosts_is_refused() {
    let stage = Stage::new(&[]);
    assert_eq!(stage.send("GET", "/", &["Host: localhost"]).status, 200);
    assert_eq!(stage.send("GET", "/", &["Host: localhost", "Host: localhost"]).status, 421);
    assert_eq!(stage.send("GET", "/", &["Host: localhost", "Host: a.example"]).status, 421);
}

#[test]
fn another_method_is_told_which_are_taken() {
    let stage = Stage::new(&[]);
    for (method, path, allowed) in [
        ("DELETE", "/api/why", "GET,HEAD"),
        ("GET", "/api/seeds", "POST"),
        ("PUT", "/dashboard", "GET,HEAD"),
    ] {
        let answer = stage.send(method, path, &["Host: localhost"]);
        assert_eq!(answer.status, 405, "{method} {path}");
        assert!(answer.head.to_lowercase().contains(&format!("allow: {}", allowed.to_lowercase())));
    }
}

/// Whoever asks the API gets JSON, also when refused; whoever asks for a page gets a page.
#[test]
fn the_api_refuses_in_json() {
    let stage = Stage::new(&[]);
    let refusals = [
        ("POST", "/api/budget", 401),
        ("POST", "/api/seeds", 401),
        ("POST", "/api/hints", 401),
        ("GET", "/api/budget", 405),
        ("GET", "/api/search?q=a&page=0", 400),
        ("GET", "/api/search?q=a&count=x", 400),
        ("GET", "/api/search?q=a&q=b", 400),
        ("GET", "/api/search", 400),
        ("GET", "/api/why?url=nothing", 400),
        ("GET", "/api/what-if?times=1&times=2", 400),
        ("GET", "/api/nothing", 404),
    ];
    for (method, path, status) in refusals {
        let answer = stage.send(method, path, &[]);
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.head.contains("content-type: application/json"), "{path}: {}", answer.head);
        assert!(answer.body.starts_with("{\"error\":"), "{path}: {}", answer.body);
    }
    assert!(stage.get("/nothing").head.contains("content-type: text/html"));
}
