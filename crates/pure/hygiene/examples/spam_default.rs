//! Learns the default model of spam from published features, and says how well it does.
//!
//! `cargo run --release -p tidewatch-hygiene --example spam_default content-train.arff`
//!
//! The file is the one of the content-based features of WEBSPAM-UK2007, SET1: 96 numbers and a class a
//! host, separated by commas.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::cmp::Ordering;
use std::error::Error;

use tidewatch_hygiene::spam::model::{Belief, Example, Logistic};
use tidewatch_hygiene::spam::shape::{MEASURES, Shape};
use tidewatch_hygiene::spam::{FAR, scaled};

/// The measures, their squares, and 1.
const N: usize = 2 * MEASURES + 1;
/// Columns of the means over a host's pages: words, title, letters a word, anchors, visible, compression,
/// entropy, likelihood.
const COLUMNS: [usize; MEASURES] = [48, 49, 50, 51, 52, 53, 70, 71];
/// Standard deviation of weights: by which unseen fifths are told apart best of 0.25, 0.5 and 1.
const SPREAD: f64 = 0.5;
const FOLDS: usize = 5;
/// Upper ends of the rows of the reliability table.
const BINS: [f64; 7] = [0.02, 0.04, 0.07, 0.12, 0.18, 0.25, 1.0];

type Host = (Shape, bool);

fn read(path: &str) -> Result<Vec<Host>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let host = |line: &str| -> Result<Host, Box<dyn Error>> {
        let cells: Vec<&str> = line.trim().split(',').collect();
        let mut shape = Shape::default();
        for (number, column) in shape.0.iter_mut().zip(COLUMNS) {
            *number = cells.get(column).ok_or("a row is too short")?.parse()?;
        }
        Ok((shape, cells.last() == Some(&"spam")))
    };
    rows.map(host).collect()
}

/// Mean and standard deviation of every scaled measure.
fn scale(hosts: &[Host]) -> [(f64, f64); MEASURES] {
    std::array::from_fn(|at| {
        let values = || hosts.iter().map(|(shape, _)| scaled(shape)[at]);
        let mean = values().sum::<f64>() / hosts.len() as f64;
        let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / hosts.len() as f64;
        (mean, variance.sqrt())
    })
}

fn examples(hosts: &[Host], scale: &[(f64, f64); MEASURES]) -> Vec<Example<N>> {
    let x = |shape: &Shape| {
        let scaled = scaled(shape);
        std::array::from_fn(|at| {
            let Some((mean, deviation)) = scale.get(at / 2) else { return 1.0 };
            let z = ((scaled[at / 2] - mean) / deviation).clamp(-FAR, FAR);
            if at % 2 == 0 { z } else { z * z - 1.0 }
        })
    };
    hosts.iter().map(|(shape, is_spam)| Example { x: x(shape), is_spam: *is_spam }).collect()
}

/// The log odds at x = 0 are those of the share and what a feature that is always 1 adds to it.
fn learn(examples: &[Example<N>]) -> Logistic<N> {
    let share = share(examples);
    let mut prior = [Belief { mean: 0.0, spread: SPREAD }; N];
    prior[N - 1].spread = 10.0;
    let bias = (share / (1.0 - share)).ln();
    Logistic::fit(bias, share, &prior, examples)
}

fn share(examples: &[Example<N>]) -> f64 {
    let spam = examples.iter().filter(|example| example.is_spam).count();
    spam as f64 / examples.len() as f64
}

/// Chance that a spam host gets a larger chance than a good one.
fn area(chances: &[(f64, bool)]) -> f64 {
    let of = |kind: bool| -> Vec<f64> {
        chances.iter().filter(|(_, is_spam)| *is_spam == kind).map(|(chance, _)| *chance).collect()
    };
    let (spam, good) = (of(true), of(false));
    let won = |one: f64, other: f64| match one.total_cmp(&other) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    let wins: f64 = spam.iter().flat_map(|s| good.iter().map(|g| won(*s, *g))).sum();
    wins / (spam.len() * good.len()) as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name the file of features")?;
    let hosts = read(&path)?;
    let scale = scale(&hosts);
    let all = examples(&hosts, &scale);
    println!("{} hosts, {} spam", hosts.len(), hosts.iter().filter(|host| host.1).count());
    let mut chances = Vec::new();
    for fold in 0..FOLDS {
        let is_left_out = |at: &usize| at.wrapping_mul(2_654_435_761) / 128 % FOLDS == fold;
        let (out, used): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_left_out);
        let model = learn(&used.iter().map(|&at| all[at]).collect::<Vec<_>>());
        chances.extend(out.iter().map(|&at| (model.chance(&all[at].x), all[at].is_spam)));
    }
    println!("area under the curve, unseen fifths: {:.3}", area(&chances));
    println!("chance up to  hosts  mean chance  share of spam");
    let mut from = 0.0;
    for to in BINS {
        let bin: Vec<_> = chances.iter().filter(|(p, _)| *p > from && *p <= to).collect();
        let count = bin.len().max(1) as f64;
        let mean = bin.iter().map(|(p, _)| p).sum::<f64>() / count;
        let spam = bin.iter().filter(|(_, is_spam)| *is_spam).count() as f64 / count;
        println!("{to:12.2} {:6} {mean:12.3} {spam:14.3}", bin.len());
        from = to;
    }
    let model = learn(&all);
    println!("pub const SHARE: f64 = {:.4};", share(&all));
    println!("pub const BIAS: f64 = {:.3};", model.bias + model.weights[N - 1]);
    println!("pub const SCALE: {scale:.3?};");
    println!("pub const WEIGHTS: {:.3?};", &model.weights[..N - 1]);
    Ok(())
}
