//! The exact answer for memoryless crawl times \[AHLPS18\].

/// Rates that maximise Σ μρ/(ρ + Δ) with Σ ρ = R, exactly, in O(n log n).
///
/// Pages in ascending order of μ/Δ; r = Σ √(μΔ), s = Σ Δ over the pages kept; page i is dropped
/// while μᵢ/Δᵢ ≤ (r/(R + s))²; the others get ρ = √(μΔ)·(R + s)/r − Δ. No bounds, no hosts; it
/// checks the search by price, which has both. Pages of weight zero and pages that never change
/// or change at once get nothing; if there are no others the budget stays unspent.
pub fn memoryless_exact(weight: &[f64], change_rate: &[f64], budget: f64) -> Vec<f64> {
    let ratio = |page: usize| weight[page] / change_rate[page];
    let mut kept: Vec<usize> = (0..weight.len().min(change_rate.len()))
        .filter(|&i| weight[i] > 0.0 && change_rate[i] > 0.0 && change_rate[i].is_finite())
        .collect();
    kept.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
    let root = |page: usize| (weight[page] * change_rate[page]).sqrt();
    // Best first: a page stays if it is worth its place among itself and those before it. Adding
    // up from the best keeps r and s free of the cancellation that subtracting would bring.
    let (mut r, mut s, mut count) = (0.0, 0.0, 0);
    for &page in &kept {
        let (with_r, with_s) = (r + root(page), s + change_rate[page]);
        let price_root = with_r / (budget + with_s);
        if ratio(page) <= price_root * price_root {
            break;
        }
        (r, s, count) = (with_r, with_s, count + 1);
    }
    let mut rates = vec![0.0; weight.len()];
    for &page in &kept[..count] {
        rates[page] = (root(page) * ((budget + s) / r) - change_rate[page]).max(0.0);
    }
    rates
}
