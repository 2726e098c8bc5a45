//! Clients that hold connections and ask for nothing lock nobody out.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::Stage;

/// A page that always answers, sooner than the server would close a silent connection.
const SOON: Duration = Duration::from_secs(3);

fn open(stage: &Stage, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(stage.server.address).unwrap();
    // The server may have closed it already.
    let _ = socket.write_all(bytes);
    socket
}

fn dashboard_answers(stage: &Stage) {
    let began = Instant::now();
    let answer = stage.get("/dashboard");
    assert!(matches!(answer.status, 200 | 503), "{}", answer.head);
    assert!(began.elapsed() < SOON, "it took {:?}", began.elapsed());
}

#[test]
fn silent_connections_give_their_places_to_others() {
    let stage = Stage::new(&[]);
    let silent: Vec<TcpStream> = (0..700).map(|_| open(&stage, b"")).collect();
    dashboard_answers(&stage);
    let halves: Vec<TcpStream> =
        (0..700).map(|_| open(&stage, b"GET / HTTP/1.1\r\nHost:")).collect();
    dashboard_answers(&stage);
    drop((silent, halves));
}

#[test]
fn event_readers_are_few_and_the_others_are_told() {
    let stage = Stage::new(&[]);
    let ask = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut readers: Vec<TcpStream> = (0..600).map(|_| open(&stage, ask)).collect();
    dashboard_answers(&stage);
    let mut statuses = Vec::new();
    for reader in &mut readers {
        reader.set_read_timeout(Some(SOON)).unwrap();
        let mut head = [0; 12];
        if reader.read_exact(&mut head).is_ok() {
            statuses.push(String::from_utf8_lossy(&head[9..]).into_owned());
        }
    }
    let of = |status: &str| statuses.iter().filter(|found| *found == status).count();
    assert_eq!(of("200") + of("503"), statuses.len(), "{statuses:?}");
    assert!((1..=16).contains(&of("200")) && of("503") > 0, "{statuses:?}");
    drop(readers);
    let began = Instant::now();
    let status_of_new = || {
        let mut reader = open(&stage, ask);
        let mut head = [0; 12];
        reader.read_exact(&mut head).unwrap();
        head[9..].to_vec()
    };
    while status_of_new() != b"200" {
        assert!(began.elapsed() < Duration::from_secs(10), "no reader is let in again");
        std::thread::sleep(Duration::from_millis(100));
    }
}
