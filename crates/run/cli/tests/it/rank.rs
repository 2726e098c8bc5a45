//! `tidewatch rank`: what it prints, and what it makes of odd input.

use serde_json::Value;

use crate::tool::{Folder, rows};

/// The walk promises 10⁻¹² of the total.
const CLOSE: f64 = 1e-11;

const LINKS: &str = "# a small web\na b\na c\nb c\nc a\nd c\n";

fn score(found: &[Vec<String>], node: &str) -> f64 {
    found.iter().find(|row| row[0] == node).unwrap()[1].parse().unwrap()
}

#[test]
fn pagerank_has_its_closed_form_and_comes_best_first() {
    let folder = Folder::with(&[("l.txt", "a b\n")]);
    let found = rows(&folder.run("rank l.txt --method pagerank").ok());
    // One link, its target dangling: x_a = 1/(2 + α).
    assert_eq!(found[0][0], "b");
    assert!((score(&found, "a") - 1.0 / 2.85).abs() < CLOSE);
    assert!((score(&found, "b") - 1.85 / 2.85).abs() < CLOSE);
}

#[test]
fn json_says_how_the_walk_ended() {
    let folder = Folder::with(&[("l.txt", LINKS)]);
    let text = folder.run("rank l.txt --method pagerank --json").ok();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["method"], &json["nodes"], &json["links"]),
        (&"pagerank".into(), &4.into(), &5.into())
    );
    assert!(json["steps"].as_u64().unwrap() > 10 && json["error"].as_f64().unwrap() <= 1e-12);
    assert_eq!(json["rows"].as_array().unwrap().len(), 4);
    assert_eq!(json["rows"][0]["node"], "c");
}

#[test]
fn clicks_are_carried_out_to_the_frontier() {
    // p is clicked and leads to x; q is not and leads to y.
    let links = "s p\ns q\np x\nq y\n";
    let impact = "node,impact\np,9\nnobody,3\n";
    let frontier = "node\nx\ny\nunlinked\n";
    let folder = Folder::with(&[("l", links), ("i.csv", impact), ("f.csv", frontier)]);
    for method in ["rw", "rw-eg"] {
        let run = folder.run(&format!("rank l --method {method} --impact i.csv --frontier f.csv"));
        assert!(
            run.err.contains("ignored the impacts of 1 nodes that no link names"),
            "{}",
            run.err
        );
        let found = rows(&run.ok());
        let order: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(order, ["x", "y", "unlinked"], "{method}");
    }
}

#[test]
fn queries_find_pages_that_answer_them() {
    let pages = "node,url,anchor\na,https://x.example/red/1,\nb,https://x.example/2,red fish\n";
    let queries = "words,count\nred fish,4\n";
    let folder = Folder::with(&[("l", LINKS), ("p.csv", pages), ("q.csv", queries)]);
    let with = "--queries q.csv --pages p.csv";
    let found = rows(&folder.run(&format!("rank l --method q-overlap {with}")).ok());
    assert_eq!((found[0][0].as_str(), score(&found, "b"), score(&found, "a")), ("b", 4.0, 1.0));
    let found = rows(&folder.run(&format!("rank l --method q-hybrid {with}")).ok());
    assert_eq!(found.len(), 4);
}

#[test]
fn every_method_without_needs_ranks_every_node() {
    let folder = Folder::with(&[("l", LINKS)]);
    for method in ["pagerank", "indegree", "opic"] {
        let found = rows(&folder.run(&format!("rank l --method {method}")).ok());
        assert_eq!(found[0][0], "c", "{method}");
        assert_eq!(found.len(), 4);
    }
}

#[test]
fn odd_links_and_an_empty_frontier_are_defined() {
    // A self-loop, a repetition, numbers with gaps, commas, an empty line.
    let folder = Folder::with(&[("l", "7,7\n7 900\n7\t900\n\n900 13\n"), ("f.csv", "node\n")]);
    let found = rows(&folder.run("rank l --method indegree").ok());
    assert_eq!(found, [["900", "1.0"], ["13", "1.0"], ["7", "0.0"]]);
    let none = folder.run("rank l --method pagerank --frontier f.csv").ok();
    assert_eq!(none, "node,score\n");
    let empty = Folder::with(&[("l", "")]);
    assert_eq!(empty.run("rank l --method pagerank").ok(), "node,score\n");
}

#[test]
fn wrong_input_is_refused_in_a_sentence() {
    let folder = Folder::with(&[
        ("l", "a b\nc\n"),
        ("ok", "a b\n"),
        ("i.csv", "node,impact\na,-1\n"),
        ("g.graph", "x"),
        ("g.properties", "nodes=9\n"),
    ]);
    let refused = |args: &str| {
        let run = folder.run(args);
        assert_eq!(run.code, 1, "{args}");
        run.err
    };
    assert!(refused("rank l --method pagerank").contains("l, line 2: 'c' is not a link"));
    assert!(refused("rank ok --method rw").contains("give --impact"));
    assert!(
        refused("rank ok --method rw --impact i.csv").contains("write a number from 0 to 1e15")
    );
    assert!(refused("rank ok --method pagerank --alpha 1").contains("alpha is 1"));
    assert!(refused("rank ok --method q-overlap").contains("give --queries and --pages"));
    assert!(refused("rank g --method pagerank").contains("no usable 'arcs': it is missing"));
    assert!(refused("rank none --method pagerank").contains("cannot open none"));
    assert_eq!(folder.run("rank ok --method magic").code, 2);
}

#[test]
fn a_compressed_graph_is_read_by_its_basename() {
    // Two nodes, 0 → 1: degree γ(1) = 010, reference 0 = 1, no interval = 1, residual ζ₃(2) = 1011;
    // then degree γ(0) = 1.
    let folder = Folder::with(&[("g.properties", "nodes=2\narcs=1\n")]);
    folder.put("g.graph", &[0b0101_1101, 0b1100_0000]);
    let found = rows(&folder.run("rank g --method indegree").ok());
    assert_eq!(found, [["1", "1.0"], ["0", "0.0"]]);
}
