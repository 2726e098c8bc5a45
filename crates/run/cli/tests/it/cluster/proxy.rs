//! A road between a node and a broker that can be blocked.
//!
//! While it is blocked nothing passes and nothing is closed, as if packets were dropped. What was under way
//! arrives when it opens again, which may be minutes later.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a blocked road is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A port that leads to another one.
pub(super) struct Road {
    at: SocketAddr,
    is_blocked: Arc<AtomicBool>,
}

impl Road {
    /// A road to a port of loopback. Its threads end with the test's process.
    pub(super) fn to(port: u16) -> Road {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, is_blocked) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let blocked = Arc::clone(&is_blocked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let blocked = Arc::clone(&blocked);
                std::thread::spawn(move || carry(&client, port, &blocked));
            }
        });
        Road { at, is_blocked }
    }

    pub(super) fn block(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    pub(super) fn url(&self) -> String {
        format!("nats://{}", self.at)
    }
}

fn wait(is_blocked: &AtomicBool) {
    while is_blocked.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
}

/// Carries bytes both ways until either side ends.
fn carry(client: &TcpStream, port: u16, is_blocked: &Arc<AtomicBool>) {
    wait(is_blocked);
    let Ok(broker) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let ways = [(client, &broker), (&broker, client)];
    let copies = ways.map(|(from, to)| {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let is_blocked = Arc::clone(is_blocked);
        std::thread::spawn(move || copy(from, to, &is_blocked))
    });
    copies.into_iter().for_each(|copy| copy.join().unwrap());
}

fn copy(mut from: TcpStream, mut to: TcpStream, is_blocked: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    from.set_read_timeout(Some(LOOK)).unwrap();
    loop {
        wait(is_blocked);
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => {
                wait(is_blocked);
                if to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    // The other way may still have something to say, but nobody would answer.
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}
