//! Reads laws of change from a table.

use anyhow::Result;
use tidewatch_science::law::{Curve, Law, LawError, Pareto, Plan, Poisson, UpdateTimes, Weibull};

use super::AMOUNT;
use crate::ids::Ids;
use crate::table_in::{Column, Rule, Table};

/// Parameters of a law, which checks their range itself.
const FINITE: Rule = Rule { fits: f64::is_finite, expected: "a finite number" };

/// A page's law of change. `Quasi` is an index into [`Laws::into_plans`], because many pages may
/// share one table of update times.
#[derive(Clone, Copy)]
pub(crate) enum PageLaw {
    Curve(Curve),
    Quasi(u32),
}

impl PageLaw {
    /// The law, with its plan looked up in `plans`.
    pub(crate) fn resolve(self, plans: &[Plan]) -> Law<'_> {
        match self {
            PageLaw::Curve(curve) => Law::Curve(curve),
            PageLaw::Quasi(plan) => Law::Quasi(plans[plan as usize].law()),
        }
    }
}

/// Reads the law of each row. Update times that several pages share are solved once.
pub(crate) struct Laws {
    law: Option<Column>,
    change_rate: Option<Column>,
    shape: Option<Column>,
    scale: Option<Column>,
    timetable: Option<TimetableColumns>,
    window: f64,
    known: Ids,
    plans: Vec<Plan>,
}

impl Laws {
    pub(crate) fn new(table: &Table, window: f64) -> Result<Self> {
        Ok(Laws {
            law: table.optional("law"),
            change_rate: table.optional("change_rate"),
            shape: table.optional("shape"),
            scale: table.optional("scale"),
            timetable: TimetableColumns::of(table)?,
            window,
            known: Ids::default(),
            plans: Vec::new(),
        })
    }

    /// The law of the current row.
    pub(crate) fn read(&mut self, table: &Table) -> Result<PageLaw> {
        let Some(column) = self.law else { return self.poisson(table) };
        match table.text(column)? {
            "" | "poisson" => self.poisson(table),
            "weibull" => self.shaped(table, |k, s| Weibull::new(k, s).map(Curve::Weibull)),
            "pareto" => self.shaped(table, |k, s| Pareto::new(k, s).map(Curve::Pareto)),
            "quasi" => self.quasi(table),
            _ => Err(table.not(column, "poisson, weibull, pareto or quasi")),
        }
    }

    /// The number of crawls beyond which another one gains nothing.
    pub(crate) fn useful(&self, law: PageLaw) -> u32 {
        match law {
            PageLaw::Curve(_) => u32::MAX,
            PageLaw::Quasi(plan) => self.plans[plan as usize].law().most_fetches() as u32,
        }
    }

    /// The plans that [`PageLaw::Quasi`] refers to.
    pub(crate) fn into_plans(self) -> Vec<Plan> {
        self.plans
    }

    fn poisson(&self, table: &Table) -> Result<PageLaw> {
        let column = needed(table, self.change_rate, "change_rate")?;
        let law = Poisson::new(table.number(column, &AMOUNT)?);
        let law = law.map_err(|why| table.refuse(column, &why.to_string()))?;
        Ok(PageLaw::Curve(Curve::Poisson(law)))
    }

    fn shaped(
        &self,
        table: &Table,
        make: impl Fn(f64, f64) -> Result<Curve, LawError>,
    ) -> Result<PageLaw> {
        let shape = needed(table, self.shape, "shape")?;
        let scale = needed(table, self.scale, "scale")?;
        let law = make(table.number(shape, &FINITE)?, table.number(scale, &FINITE)?);
        let law = law.map_err(|why| {
            let of_scale = matches!(why, LawError::Domain { what, .. } if what.contains("scale"));
            table.refuse(if of_scale { scale } else { shape }, &why.to_string())
        })?;
        Ok(PageLaw::Curve(law))
    }

    fn quasi(&mut self, table: &Table) -> Result<PageLaw> {
        let columns = match self.timetable {
            Some(columns) => columns,
            None => {
                TimetableColumns { times: table.column("times")?, probs: table.column("probs")? }
            }
        };
        let text = format!("{}\n{}", table.text(columns.times)?, table.text(columns.probs)?);
        let plan = if let Some(plan) = self.known.get(&text) {
            plan
        } else {
            self.plans.push(columns.read(table, self.window)?.exact());
            self.known.add(&text).0
        };
        Ok(PageLaw::Quasi(plan))
    }
}

/// The columns `times` and `probs`.
#[derive(Clone, Copy)]
pub(crate) struct TimetableColumns {
    pub(crate) times: Column,
    probs: Column,
}

impl TimetableColumns {
    /// Both columns; `None` if there is no `times`.
    pub(crate) fn of(table: &Table) -> Result<Option<Self>> {
        let columns = table.optional("times").map(|times| {
            let probs = table.column("probs")?;
            Ok(TimetableColumns { times, probs })
        });
        columns.transpose()
    }

    /// The update times of the current row.
    pub(crate) fn read(self, table: &Table, window: f64) -> Result<UpdateTimes> {
        let (mut times, mut probs) = (Vec::new(), Vec::new());
        table.list(self.times, &mut times)?;
        table.list(self.probs, &mut probs)?;
        UpdateTimes::new(window, &times, &probs).map_err(|why| {
            let of_probs = matches!(why, LawError::Domain { what, .. } if what.contains("prob"));
            table.refuse(if of_probs { self.probs } else { self.times }, &why.to_string())
        })
    }
}

/// The column, or the error that says it is missing.
fn needed(table: &Table, column: Option<Column>, name: &'static str) -> Result<Column> {
    column.map_or_else(|| table.column(name), Ok)
}
