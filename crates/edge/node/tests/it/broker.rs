//! What the brokers must be like, and what they promise.

use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidewatch_node::dev::{Brokers, Habits};
use tidewatch_node::{Broker, BrokerError, Bucket, Follower, From, Written};

/// Brokers in a directory of their own; `None` if there is no program to run.
fn start(habits: Habits) -> Option<(Brokers, TempDir)> {
    let program = tidewatch_testing::nats::server()?;
    let dir = tempfile::tempdir().unwrap();
    Some((Brokers::start(&program, dir.path(), habits).unwrap(), dir))
}

async fn refused(urls: &str) -> String {
    match Broker::connect(urls).await {
        Ok((broker, _)) => broker.bucket("claims").await.err().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn brokers_that_would_lose_links_are_refused_in_a_sentence() {
    let told = refused("nats://127.0.0.1:1,nats://127.0.0.1:2").await;
    assert!(told.contains("no broker answers at nats://127.0.0.1:1,nats://127.0.0.1:2"), "{told}");
    let one = Habits { count: 1, ..Habits::default() };
    let Some((brokers, _dir)) = start(one) else { return };
    let told = refused(&brokers.urls()).await;
    assert!(
        told.contains("cannot keep 3 replicas") && told.contains("three nats-servers"),
        "{told}"
    );
    drop(brokers);
    let (brokers, _dir) = start(Habits { sync_always: false, ..one }).unwrap();
    let told = refused(&brokers.urls()).await;
    assert!(told.contains("up to 120 s before it syncs") && told.contains("always"), "{told}");
    drop(brokers);
    let unseen = Habits { sync_always: false, is_monitored: false, ..one };
    let (brokers, _dir) = start(unseen).unwrap();
    let (_, notes) = Broker::connect(&brokers.urls()).await.unwrap();
    assert!(notes[0].contains("cannot see whether the broker"), "{notes:?}");
}

async fn bucket(urls: &str) -> Result<Bucket, BrokerError> {
    Broker::connect(urls).await?.0.bucket("claims").await
}

/// Eight claim the same key again and again; each time one of them wins.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_claims_wins_and_a_stale_one_is_refused() {
    let Some((brokers, _dir)) = start(Habits::default()) else { return };
    let bucket = bucket(&brokers.urls()).await.unwrap();
    assert_eq!(bucket.get("p.1").await.unwrap(), None);
    let mut last = 0;
    for _ in 0..10 {
        let claims = (0..8).map(|who| {
            let bucket = bucket.clone();
            tokio::spawn(async move { bucket.update("p.1", vec![who], last).await })
        });
        let mut won = Vec::new();
        for claim in claims.collect::<Vec<_>>() {
            match claim.await.unwrap() {
                Written::Done(revision) => won.push(revision),
                Written::Refused => {}
                Written::Unknown => panic!("all brokers run"),
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
        assert!(won[0] > last);
        last = won[0];
    }
    assert_eq!(bucket.get("p.1").await.unwrap().unwrap().0, last);
    assert_eq!(bucket.update("p.1", vec![9], last - 1).await, Written::Refused);
    assert_eq!(bucket.clock_note("clock").await.unwrap(), None, "one machine has one clock");
}

/// Brokers are killed one after the other while a writer writes. A reader misses nothing that was
/// acknowledged and sees it in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_misses_nothing_while_brokers_are_killed() {
    const KILLS: usize = 3;
    let Some((mut brokers, _dir)) = start(Habits::default()) else { return };
    let (broker, _) = Broker::connect(&brokers.urls()).await.unwrap();
    let stream = broker.log("links", "links.*").await.unwrap();
    let mut reader = Follower::start(stream, "links.7".to_owned(), From::After(0));
    let writer = tokio::spawn(async move {
        let (began, mut written) = (Instant::now(), 0_u32);
        while began.elapsed() < Duration::from_secs(4 * KILLS as u64) {
            let message = async_nats::jetstream::message::PublishMessage::build()
                .payload(written.to_le_bytes().to_vec().into())
                .message_id(format!("{written}"));
            let sent = broker.context().send_publish("links.7", message).await;
            if let Ok(sent) = sent
                && sent.await.is_ok()
            {
                written += 1;
            }
        }
        written
    });
    for kill in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        brokers.kill(kill % brokers.count());
        tokio::time::sleep(Duration::from_millis(1500)).await;
        brokers.restart(kill % brokers.count()).unwrap();
    }
    let written = writer.await.unwrap();
    assert!(written > 100, "{written} messages are no load");
    for expected in 0..written {
        let read = tokio::time::timeout(Duration::from_secs(30), reader.next()).await;
        let read = read.unwrap_or_else(|_| panic!("{expected} of {written} never came")).unwrap();
        let payload = read.payload.unwrap();
        assert_eq!(u32::from_le_bytes(payload[..].try_into().unwrap()), expected);
    }
}
