//! Policies by longevity on pages of known habits.

use tidewatch_core::{Rate, Span};
use tidewatch_lab::generate::longevity::{Config, generate};
use tidewatch_lab::{Settings, World, engine, experiment, policies};

const SEED: u64 = 3;

fn world() -> World {
    World::new(generate(&Config { scale: 0.06, ..Config::default() }, SEED).trace).unwrap()
}

fn staleness(world: &World, name: &str, cost: f64) -> f64 {
    let contestant = policies::find(name).unwrap();
    let budget = cost * world.len() as f64 / (2.0 * 86_400.0);
    let settings = Settings {
        reveal: contestant.is_oracle(),
        measure_last: Some(Span::DAY.times(30)),
        ..Settings::new(Rate::per_second(budget).unwrap())
    };
    let done = engine::run(world, contestant.make(world, SEED).as_mut(), &settings).unwrap();
    done.fragment_staleness.unwrap()
}

#[test]
fn order_of_the_paper() {
    let world = world();
    let [uniform, known, seen] =
        ["uniform-changing", "fs-s", "fs-d"].map(|name| staleness(&world, name, 0.1));
    assert!(seen < known && known < uniform, "{seen} {known} {uniform}");
    let online = staleness(&world, "curve-fit", 0.2);
    let blind = staleness(&world, "uniform", 0.2);
    assert!(online < blind, "{online} {blind}");
}

/// Experiments, how many figures each draws at least, and what its tables compare.
const EXPERIMENTS: [(&str, usize, &[&str]); 3] = [
    ("lifetimes", 3, &["churn", "scroll"]),
    ("longevity-offline", 2, &["uniform", "HS-S", "FS-S", "HS-D", "FS-D"]),
    ("longevity-vs-cgm", 2, &["cgm", "cgm-oracle", "curve-fit", "bound-based", "fs-s", "fs-d"]),
];

#[test]
fn experiments_run_small() {
    for (name, figures, compared) in EXPERIMENTS {
        let setup = experiment::Setup {
            seed: 1,
            repeat: 1,
            scale: 0.02,
            data: None,
            trace: None,
            say: &|_| {},
        };
        let html = (experiment::find(name).unwrap().run)(&setup).unwrap().to_html();
        let drawn = html.matches("<svg").count();
        assert!(drawn >= figures, "{name} draws {drawn} figures");
        assert!(!html.contains("NaN"), "{name} has a figure that is no number");
        for what in compared {
            assert!(html.contains(&format!(">{what}")), "{name} does not show {what}");
        }
    }
}
