//! A regression tree: splits by least remaining variance, recursively.

use super::Examples;

/// Limits on the size of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeSettings {
    /// Most splits between root and leaf.
    pub depth: u32,
    /// Least examples in a leaf: fewer say little of a heavy-tailed target.
    pub leaf: usize,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings { depth: 7, leaf: 25 }
    }
}

/// A fitted tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(f64),
    /// Feature, threshold, and where the side above the threshold begins; the other side follows.
    Split(usize, f64, usize),
}

impl Tree {
    /// Fits a tree; without examples, one that predicts 0.
    pub fn fit(examples: &Examples, settings: TreeSettings) -> Self {
        let mut tree = Tree { nodes: Vec::new() };
        let mut members: Vec<u32> = (0..examples.len() as u32).collect();
        tree.grow(examples, settings, &mut members, settings.depth);
        tree
    }

    fn grow(
        &mut self,
        examples: &Examples,
        settings: TreeSettings,
        members: &mut [u32],
        depth: u32,
    ) {
        let at = self.nodes.len();
        let sum: f64 = members.iter().map(|&i| examples.target(i as usize)).sum();
        self.nodes.push(Node::Leaf(sum / members.len().max(1) as f64));
        let best = if depth == 0 { None } else { best_split(examples, settings, members) };
        let Some((feature, threshold)) = best else { return };
        members.sort_unstable_by(|&a, &b| {
            let value = |i: u32| examples.row(i as usize)[feature];
            value(a).total_cmp(&value(b)).then(a.cmp(&b))
        });
        let middle = members.partition_point(|&i| examples.row(i as usize)[feature] <= threshold);
        let (low, high) = members.split_at_mut(middle);
        self.grow(examples, settings, low, depth - 1);
        let above = self.nodes.len();
        self.grow(examples, settings, high, depth - 1);
        self.nodes[at] = Node::Split(feature, threshold, above);
    }

    /// The predicted target for these features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        let mut at = 0;
        loop {
            match self.nodes.get(at) {
                Some(&Node::Split(feature, threshold, above)) => {
                    at = if features[feature] <= threshold { at + 1 } else { above };
                }
                Some(&Node::Leaf(value)) => return value,
                None => return 0.0,
            }
        }
    }
}

/// The feature and threshold that leave the least variance: the largest S²_low/n_low +
/// S²_high/n_high, with S the sums of targets. `None` if no split reduces it.
fn best_split(
    examples: &Examples,
    settings: TreeSettings,
    members: &[u32],
) -> Option<(usize, f64)> {
    let n = members.len();
    if n < 2 * settings.leaf.max(1) {
        return None;
    }
    let total: f64 = members.iter().map(|&i| examples.target(i as usize)).sum();
    let mut best = (total * total / n as f64 * (1.0 + 1e-12), None);
    let mut sorted: Vec<(f64, f64)> = Vec::with_capacity(n);
    for feature in 0..examples.width {
        sorted.clear();
        let pair = |&i: &u32| (examples.row(i as usize)[feature], examples.target(i as usize));
        sorted.extend(members.iter().map(pair));
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut low = 0.0;
        for (i, pair) in sorted.windows(2).enumerate() {
            low += pair[0].1;
            let count = i + 1;
            let fits = count >= settings.leaf && n - count >= settings.leaf;
            if !fits || pair[0].0 >= pair[1].0 {
                continue;
            }
            let high = total - low;
            let explained = low * low / count as f64 + high * high / (n - count) as f64;
            if explained > best.0 {
                best = (explained, Some((feature, pair[0].0)));
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[allow(clippy::float_cmp, reason = "means of equal numbers are exact")]
    fn steps_are_found_exactly() {
        let mut examples = Examples::new(2);
        for i in 0..400_u32 {
            let (a, b) = (f64::from(i % 20), f64::from(i / 20));
            let target = if a > 9.0 { if b > 4.0 { 5.0 } else { 2.0 } } else { 1.0 };
            examples.push(&[a, b], target);
        }
        let tree = Tree::fit(&examples, TreeSettings { depth: 3, leaf: 10 });
        assert_eq!(tree.predict(&[3.0, 19.0]), 1.0);
        assert_eq!(tree.predict(&[15.0, 3.0]), 2.0);
        assert_eq!(tree.predict(&[15.0, 9.0]), 5.0);
        assert_eq!(Tree::fit(&Examples::new(2), TreeSettings::default()).predict(&[0.0, 0.0]), 0.0);
    }

    proptest! {
        /// The first split is the best of all, found by trying each.
        #[test]
        fn no_other_split_leaves_less_variance(
            rows in prop::collection::vec((0..6_u8, 0..6_u8, 0..10_u8), 12..40),
        ) {
            let mut examples = Examples::new(2);
            rows.iter().for_each(|&(a, b, t)| examples.push(&[a.into(), b.into()], t.into()));
            let settings = TreeSettings { depth: 1, leaf: 3 };
            let tree = Tree::fit(&examples, settings);
            let error = |predict: &dyn Fn(&[f64]) -> f64| -> f64 {
                (0..examples.len()).map(|i| (examples.target(i) - predict(examples.row(i))).powi(2)).sum()
            };
            let ours = error(&|row| tree.predict(row));
            for feature in 0..2 {
                for cut in 0..6_u8 {
                    let side = |i: usize| examples.row(i)[feature] <= f64::from(cut);
                    let mean = |low: bool| {
                        let of: Vec<f64> = (0..examples.len()).filter(|&i| side(i) == low)
                            .map(|i| examples.target(i)).collect();
                        (of.len(), of.iter().sum::<f64>() / of.len().max(1) as f64)
                    };
                    let ((n, low), (m, high)) = (mean(true), mean(false));
                    if n >= 3 && m >= 3 {
                        let theirs = error(&|row| if row[feature] <= f64::from(cut) { low } else { high });
                        prop_assert!(ours <= theirs + 1e-9);
                    }
                }
            }
        }
    }
}
