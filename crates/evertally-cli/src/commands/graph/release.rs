//! Turns the amounts of steps into estimates, writes them and keeps them for the plot.

use super::task::Task;
use crate::commands::count::{buckets_in_words, error_in_words, list, show_time};
use crate::commands::shared::delta_in_words;
use crate::error::Result;
use crate::mechanism::{Prepared, Running};
use crate::output::{
    self, Destination, Header, Measures, OutputFormat, ReleaseWriter, ReleasedRow, Shape, Start,
};
use crate::plot::{EstimateChart, Point, Thinned};
use crate::progress::Progress;
use evertally::NoiseKey;
use evertally::internals::noise::copy_of;
use evertally_stream::{Amount, Zone};
use std::path::Path;

pub(super) struct Releaser<'a> {
    task: &'a Task<'a>,
    running: Vec<Running>,
    writer: Box<dyn ReleaseWriter>,
    /// One for each row of a step.
    curves: Vec<Thinned<Point>>,
    /// The typical error of each statistic.
    errors: Vec<f64>,
    step: u64,
}

impl<'a> Releaser<'a> {
    /// Starts the counters and the output. The run is paid for.
    pub(super) fn start(
        task: &'a Task<'a>,
        prepared: Vec<Prepared>,
        key: &NoiseKey,
        (format, destination): (OutputFormat, Destination),
        header: &Header,
    ) -> Result<Self> {
        let shape = Shape { timed: true, keyed: true, periods: false, measures: Measures::Totals };
        let writer = output::start(format, destination, header, shape)?;
        let errors = prepared.iter().filter_map(Prepared::rmse).collect();
        let start = |prepared: Prepared| prepared.start(copy_of(key), Vec::new());
        let running = prepared.into_iter().map(start).collect::<Result<_>>()?;
        let curves = vec![Thinned::default(); task.rows.iter().map(Vec::len).sum()];
        Ok(Self { task, running, writer, curves, errors, step: 0 })
    }

    pub(super) fn release_all(&mut self, steps: impl ExactSizeIterator<Item = Vec<Amount>>) -> Result<()> {
        let mut progress = Progress::new("releasing");
        let all = steps.len() as f64;
        for amounts in steps {
            self.release(&amounts)?;
            progress.update(Some(self.step as f64 / all));
        }
        Ok(())
    }

    fn release(&mut self, amounts: &[Amount]) -> Result<()> {
        let micros = self.task.buckets.start_of(self.step);
        let text = show_time(&self.task.times, micros);
        let (mut left, mut curves) = (amounts, self.curves.iter_mut());
        for (running, names) in self.running.iter_mut().zip(&self.task.rows) {
            let (own, others) = left.split_at(names.len());
            left = others;
            for (name, measured) in names.iter().zip(running.step(own)?) {
                let start = Some(Start { micros, text: &text });
                let row = ReleasedRow { period: None, step: self.step, start, key: Some(name), measured };
                self.writer.write(&row)?;
                if let (Some(curve), Some((value, lower, upper))) = (curves.next(), measured.drawn()) {
                    curve.push(Point { x: micros as f64, value, lower, upper, truth_not_private: None });
                }
            }
        }
        self.step += 1;
        Ok(())
    }

    /// Completes the table, and returns it without its name, the picture, and a line for the terminal.
    pub(super) fn finish(self) -> Result<(Destination, EstimateChart, String)> {
        let table = self.writer.finish()?;
        let task = self.task;
        let (epsilon, delta) = task.budget();
        let delta = delta_in_words(delta);
        let names = task.rows.iter().flatten().cloned().map(Some);
        let of = Path::new(&task.source).file_stem().and_then(|stem| stem.to_str());
        let chart = EstimateChart {
            title: format!(
                "Private statistics of the graph{}",
                of.map(|of| format!(" in {of}")).unwrap_or_default()
            ),
            subtitle: format!(
                "ε = {epsilon}, δ = {delta} for one {} ({}) · every {}",
                task.args.protect.unit(),
                task.args.privacy.neighbours,
                task.buckets.every()
            ),
            times: Some(task.times.zone().cloned().unwrap_or(Zone::utc())),
            shows_zero: true,
            panels: names.zip(self.curves.iter().map(Thinned::points)).collect(),
        };
        let parts = task.parts.iter().zip(&self.errors);
        let errors: Vec<_> = parts
            .map(|((statistic, _), error)| format!("{statistic} ± {}", error_in_words(*error)))
            .collect();
        let steps = buckets_in_words(task.buckets.every(), self.step);
        let wrote = list("; wrote", [task.args.output.as_deref(), task.args.plot.as_deref()]);
        let recorded = list("; recorded in", [task.args.budget_file.path()]);
        let (errors, unit) = (errors.join(", "), task.args.protect.unit());
        let summary = format!(
            "{steps}, ε = {epsilon} and δ = {delta} per {unit}, typical error: {errors}{wrote}{recorded}"
        );
        Ok((table, chart, summary))
    }
}
