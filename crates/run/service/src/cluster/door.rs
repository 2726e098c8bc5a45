//! The socket in a node's directory, by which commands on the same machine ask the whole crawl.

use std::path::Path;

use serde_json::{Value, json};
use tidewatch_partition::explain::what_if_json;
use tidewatch_partition::{Doorkeeper, Question};
use tidewatch_server::ask::{Asker, NoAnswer, nobody_knows};
use tokio::runtime::Handle;

use crate::ServiceError;

/// Answers until the doorkeeper is dropped. Must be called within a runtime.
pub(super) fn open(dir: &Path, asker: Asker) -> Option<Doorkeeper> {
    let runtime = Handle::current();
    Doorkeeper::open(dir, move |question| {
        let answer = runtime.block_on(answer(&asker, question));
        answer.unwrap_or_else(|why| json!({ "error": ServiceError::from(why).to_string() }))
    })
}

async fn answer(asker: &Asker, question: Question) -> Result<Value, NoAnswer> {
    Ok(match question {
        Question::Why(url) => asker.why(&url).await?,
        Question::Rules => {
            let rules = asker.rules().await?;
            json!({ "rules": rules.found, "partitions": rules.coverage })
        }
        Question::Decide(ruling, rule) => {
            let known = asker.decide(rule, ruling).await?;
            match known.coverage.told().filter(|_| !known.found) {
                Some(told) => json!({ "error": nobody_knows(&told) }),
                None => json!({ "decided": known.found }),
            }
        }
        Question::Label(..) | Question::Labels => json!({
            "error": "a cluster takes no labels yet: its nodes exchange no judgements of hosts"
        }),
        Question::WhatIf(other) => match asker.what_if(other).await? {
            Some(both) => json!({
                "now": what_if_json(&both.found.now),
                "then": what_if_json(&both.found.then),
                "partitions": both.coverage,
            }),
            None => json!({ "error": "this crawl's policy has no price and cannot predict" }),
        },
    })
}
