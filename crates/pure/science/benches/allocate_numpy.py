"""The allocation of freshness by plain bisection in numpy, to compare with `allocate_speed`.

    python3 benches/allocate_numpy.py [PAGES]

Straightforward and vectorised: bisect the logarithm of the price; at each price invert
g(x) = 1 - (1 + x)exp(-x) for all pages by Newton's method on x - log(1 + x) = -log(1 - y), whose
start is good enough for four steps to reach full precision. Same distribution of pages and same
budget as the Rust bench; both stop at a relative residual of 1e-12.
"""

import sys
import time

import numpy as np


def rates(price, weight, change):
    """Fetch rates at a price; pages with weight / change <= price get none."""
    y = price * change / weight
    worth = y < 1.0
    level = -np.log1p(-y[worth])
    t = np.sqrt(2.0 * level)
    x = t + t * t / 3.0 + t**3 / (36.0 + 20.0 * t * t)
    for _ in range(4):
        x -= (x - np.log1p(x) - level) * (1.0 + x) / x
    out = np.zeros_like(weight)
    out[worth] = change[worth] / x
    return out


def allocate(weight, change, budget):
    low, high = -50.0, 50.0
    passes = 0
    while True:
        middle = 0.5 * (low + high)
        found = rates(np.exp(middle), weight, change)
        spent = found.sum()
        passes += 1
        if abs(spent - budget) <= 1e-12 * budget or not low < middle < high:
            return found, np.exp(middle), passes, spent
        low, high = (middle, high) if spent > budget else (low, middle)


def main():
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    random = np.random.default_rng(1)
    weight = random.exponential(1.0, pages)
    change = 10.0 ** (random.random(pages) * 5.0 - 3.0)
    start, used = time.perf_counter(), time.process_time()
    _, price, passes, spent = allocate(weight, change, 0.2 * pages)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    residual = abs(spent / (0.2 * pages) - 1.0)
    print(
        f"numpy {np.__version__}: {pages} pages, {seconds * 1e3:.0f} ms "
        f"({processor * 1e3:.0f} ms of processor time), {passes} passes, "
        f"{processor * 1e3 / passes:.0f} ms of processor time a pass, price {price:.6e}, residual {residual:.1e}"
    )


if __name__ == "__main__":
    main()
