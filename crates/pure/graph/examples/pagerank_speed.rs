//! What a step of a walk costs, and what a graph takes on disk and in memory.
//!
//! `pagerank_speed BASENAME [STEPS]` reads a graph in WebGraph's format;
//! `pagerank_speed synthetic LINKS [STEPS]` makes one of about ten links a node.
//! Prints JSON: processor time per link and step of PageRank and of RW-EG on the
//! thread that calls (run with RAYON_NUM_THREADS=1), the fastest of five rounds;
//! bits per link on disk; peak memory. `benches/pagerank_compare.py` runs it
//! beside other libraries.

#![allow(clippy::print_stdout, reason = "an example speaks to a person")]

use std::error::Error;
use std::time::Instant;

use tidewatch_graph::walk::{ALPHA, ImpactWalk, Stop, pagerank, pagerank_steps};
use tidewatch_graph::{Csr, Graph, bv};
use tidewatch_math::Draws;

const ROUNDS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let first = args.first().ok_or("give a basename, or 'synthetic' and a number of links")?;
    let is_synthetic = first == "synthetic";
    let began = Instant::now();
    let lists = if is_synthetic {
        synthetic(args.get(1).ok_or("how many links?")?.parse()?)?
    } else {
        read(first)?
    };
    let read_s = began.elapsed().as_secs_f64();
    let steps: u32 = args.get(if is_synthetic { 2 } else { 1 }).map_or(Ok(20), |n| n.parse())?;
    let graph = Graph::from(lists);
    let built = peak_mib();
    let links = graph.out.links();
    // Two lengths: their difference is steps alone, without preparing the walk.
    let pr_once = fastest(|| pagerank_steps(&graph, ALPHA, steps).map(drop))?;
    let pr = fastest(|| pagerank_steps(&graph, ALPHA, 2 * steps).map(drop))? - pr_once;
    // Too long for a graph that is made to be large.
    let exact = Stop { tolerance: 1e-10, most_steps: if is_synthetic { 1 } else { 500 } };
    let solve = fastest(|| pagerank(&graph, ALPHA, exact, &[]).map(drop))?;
    let impact = vec![1.0; graph.len()];
    let fixed = |most_steps| Stop { tolerance: -1.0, most_steps };
    let walk = ImpactWalk { omega: 0.5, ..ImpactWalk::new(&graph, &impact) };
    let eg_once = fastest(|| walk.solve(fixed(steps), &[]).map(drop))?;
    let eg = fastest(|| walk.solve(fixed(2 * steps), &[]).map(drop))? - eg_once;
    let walked = peak_mib();
    let written = bv::write(&graph.out);
    let per = |s: f64| 1e9 * s / f64::from(steps) / links as f64;
    println!(
        "{{\"nodes\":{},\"links\":{links},\"steps\":{steps},\"read_s\":{read_s:.3},\
         \"pagerank_ns_per_link\":{:.4},\"links_per_s\":{:.4e},\"rw_eg_ns_per_link\":{:.4},\
         \"rw_eg_ratio\":{:.3},\"preparing_in_steps\":{:.2},\"solve_1e-10_s\":{solve:.4},\"bits_per_link\":{:.3},\
         \"bytes_per_link_in_memory\":{:.2},\"peak_mib_built\":{built},\"peak_mib_walked\":{walked}}}",
        graph.len(),
        per(pr),
        1e9 / per(pr),
        per(eg),
        eg / pr,
        f64::from(steps) * (pr_once / pr - 1.0),
        written.bits as f64 / links as f64,
        (graph.out.bytes() + graph.r#in.bytes()) as f64 / links as f64,
    );
    Ok(())
}

fn read(basename: &str) -> Result<Csr, Box<dyn Error>> {
    let properties = std::fs::read_to_string(format!("{basename}.properties"))?;
    let bytes = std::fs::read(format!("{basename}.graph"))?;
    Ok(bv::read(&bv::Properties::parse(&properties)?, &bytes, bv::Limits::default())?)
}

/// Most links lead nearby, as in a web sorted by URL; the others to few pages that all like.
fn synthetic(links: u32) -> Result<Csr, Box<dyn Error>> {
    let nodes = (links / 10).max(1);
    let mut draws = Draws::of(1, "graph.speed", 0);
    let mut list = Vec::with_capacity(links as usize);
    for _ in 0..links {
        let from = draws.below(nodes.into()) as u32;
        let u = draws.uniform();
        let to = if draws.chance(0.8) {
            (from + (200.0 * u * u) as u32) % nodes
        } else {
            (f64::from(nodes) * u * u * u) as u32
        };
        list.push((from, to.min(nodes - 1)));
    }
    Ok(Csr::from_links(nodes, &list)?)
}

fn fastest<E>(mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = processor_s();
        work()?;
        best = best.min(processor_s() - began);
    }
    Ok(best)
}

/// Time that this process has had a processor, all threads: others on the machine do not count.
fn processor_s() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    spent.sum::<f64>() / 1e9
}

/// Largest memory so far, in MiB; 0 where the system does not say.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}
