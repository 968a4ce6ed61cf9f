//! The paper's figure: the mean squared error of the tree and the square root for several ε, drawn
//! as the paper draws it and again with exact factors, exact noise and the least error possible.

use super::claim::{Claim, Table, Verdict, horizon};
use crate::error::Result;
use evertally::privacy::{gaussian_sigma, paper_sigma};
use evertally::research::bounds::*;

pub(super) const EPSILONS: [f64; 3] = [0.3, 0.5, 0.8];
pub(super) const DELTA: f64 = 1e-10;
const MAX_EXPONENT: u32 = 40;

/// Everything at one ε and n = 2^m.
pub(super) struct Point {
    pub(super) epsilon: f64,
    pub(super) exponent: u32,
    pub(super) paper_tree: f64,
    pub(super) paper_square_root: f64,
    pub(super) paper_lower: f64,
    pub(super) tree: f64,
    pub(super) square_root: f64,
    pub(super) lower: f64,
}

pub(super) fn points() -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for epsilon in EPSILONS {
        let closed = paper_sigma(epsilon, DELTA)?.powi(2);
        let exact = gaussian_sigma(epsilon, DELTA)?.powi(2);
        for exponent in 1..=MAX_EXPONENT {
            let n = 1_u64 << exponent;
            points.push(Point {
                epsilon,
                exponent,
                paper_tree: closed * paper_tree_mean(n)?.middle(),
                paper_square_root: closed * paper_upper_mean(n)?.middle(),
                paper_lower: closed * paper_lower_mean(n)?.middle(),
                tree: exact * binary_tree_mean_error(n)?.upper,
                square_root: exact * square_root_mean_error(n)?.upper,
                lower: exact * nuclear_mean_error(n)?.lower,
            });
        }
    }
    Ok(points)
}

pub(super) fn csv(points: &[Point]) -> String {
    let mut text =
        "epsilon,delta,n,paper_tree,paper_square_root,paper_lower,exact_tree,exact_square_root,exact_lower\n"
            .to_owned();
    for p in points {
        text.push_str(&format!(
            "{},{DELTA:e},{},{},{},{},{},{},{}\n",
            p.epsilon,
            1_u64 << p.exponent,
            p.paper_tree,
            p.paper_square_root,
            p.paper_lower,
            p.tree,
            p.square_root,
            p.lower
        ));
    }
    text
}

/// The caption's claim, by both sets of curves.
pub(super) fn claim(points: &[Point]) -> Claim {
    let at = |epsilon: f64, m: u32| points.iter().find(|p| p.epsilon == epsilon && p.exponent == m);
    let below = |pick: fn(&Point, &Point) -> bool| {
        let holds = |m: &u32| at(0.3, *m).zip(at(0.8, *m)).is_some_and(|(a, b)| pick(a, b));
        (1..=MAX_EXPONENT).rev().take_while(holds).last()
    };
    let printed = below(|a, b| a.paper_square_root < b.paper_tree);
    let exact = below(|a, b| a.square_root < b.tree);
    let words =
        |m: Option<u32>| m.map_or("never up to $2^40$".to_owned(), |m| format!("from $n = 2^{m}$ on"));
    let mut table = Table::new(&[
        "$n$",
        "closed: root at 0.3",
        "closed: tree at 0.8",
        "exact: root at 0.3",
        "exact: tree at 0.8",
    ]);
    for m in [10, 17, 18, 19, 20, 40] {
        if let (Some(a), Some(b)) = (at(0.3, m), at(0.8, m)) {
            table =
                table.figures(horizon(1 << m), &[a.paper_square_root, b.paper_tree, a.square_root, b.tree]);
        }
    }
    let finding = format!(
        "By the closed forms that the figure plots it does so {}, among powers of two; with exact factors and \
         exact noise {}.",
        words(printed),
        words(exact)
    );
    Claim::new(
        "Figure 1",
        "Error of the tree and the square root",
        "At $δ = 10^{−10}$ the square root at $ε = 0.3$ has less error than the tree at $ε = 0.8$ for $n ≥ \
         2^19$.",
        if printed.is_some_and(|m| m <= 19) { Verdict::Holds } else { Verdict::Fails },
        finding,
    )
    .from(printed.map(|m| 1 << m))
    .with(table)
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
/// The edges of the panel.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 96.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = HEIGHT - 48.0;

/// Which of the two drawings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawing {
    Paper,
    Exact,
}

type Curve = (&'static str, fn(&Point) -> f64);

impl Drawing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Paper => "figure-1-paper",
            Self::Exact => "figure-1-exact",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Paper => "Closed forms and calibration of the paper",
            Self::Exact => "Exact factors, exact noise, and the least possible",
        }
    }

    /// Dash patterns with what they stand for, and the curves.
    fn curves(self) -> [Curve; 3] {
        match self {
            Self::Paper => {
                [("", |p| p.paper_tree), ("7 4", |p| p.paper_square_root), ("1.5 3.5", |p| p.paper_lower)]
            }
            Self::Exact => [("", |p| p.tree), ("7 4", |p| p.square_root), ("1.5 3.5", |p| p.lower)],
        }
    }
}

/// Light colours and dark ones; the page switches both together.
const STYLE: &str = "\
.fig{--ink:#22262b;--faint:#6b727b;--grid:#e3e6ea;--paper:#fff;--e0:#0072b2;--e1:#b34700;--e2:#007a59;font-family:system-ui,sans-serif}\
@media(prefers-color-scheme:dark){.fig{--ink:#e6e8eb;--faint:#9aa3ad;--grid:#31363c;--paper:#16191d;--e0:#56b4e9;--e1:#f0924a;--e2:#2fc79b}}\
.fig .paper{fill:var(--paper)}.fig text{fill:var(--ink);font-size:13px}.fig .faint{fill:var(--faint)}.fig .grid{stroke:var(--grid)}\
.fig .title{font-size:16px;font-weight:600}.fig path{fill:none;stroke-width:2}.fig .s0{stroke:var(--e0)}.fig .s1{stroke:var(--e1)}\
.fig .s2{stroke:var(--e2)}.fig .f0{fill:var(--e0)}.fig .f1{fill:var(--e1)}.fig .f2{fill:var(--e2)}.fig .key{stroke:var(--ink);stroke-width:2}";

/// One drawing as a self-contained SVG. Both share their axes, so that they can be laid side by side.
pub(super) fn svg(points: &[Point], drawing: Drawing) -> String {
    let all = points.iter().flat_map(|p| [p.paper_tree, p.paper_square_root, p.lower]);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let (low, high) = ((low * 0.8).log10(), (high * 1.25).log10());
    let x = |m: f64| LEFT + (RIGHT - LEFT) * (m - 1.0) / f64::from(MAX_EXPONENT - 1);
    let y = |value: f64| TOP + (BOTTOM - TOP) * (high - value.log10()) / (high - low);
    let mut svg = format!(
        "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
         <style>{STYLE}</style><rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\
         <text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>",
        title = drawing.title()
    );
    svg.push_str(&legend());
    for m in [1, 10, 20, 30, 40] {
        let at = x(f64::from(m));
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">2<tspan dy=\"-5\" font-size=\"10\">{m}</tspan></text>",
            BOTTOM,
            BOTTOM + 20.0
        ));
    }
    for power in low.ceil() as i32..=high.floor() as i32 {
        let at = y(10_f64.powi(power));
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">10<tspan dy=\"-5\" font-size=\"10\">{power}</tspan></text>",
            RIGHT,
            LEFT - 8.0,
            at + 4.0
        ));
    }
    svg.push_str(&format!(
        "<text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">number of steps n</text>\
         <text class=\"faint\" transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">mean squared error</text>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 8.0,
        (TOP + BOTTOM) / 2.0
    ));
    for (index, epsilon) in EPSILONS.into_iter().enumerate() {
        let own: Vec<&Point> = points.iter().filter(|p| p.epsilon == epsilon).collect();
        for (dash, value) in drawing.curves() {
            let mut path = String::new();
            for p in &own {
                let verb = if path.is_empty() { 'M' } else { 'L' };
                path.push_str(&format!("{verb}{:.1} {:.1}", x(f64::from(p.exponent)), y(value(p))));
            }
            svg.push_str(&format!("<path class=\"s{index}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>"));
        }
        if let Some(last) = own.last() {
            let (_, tree) = drawing.curves()[0];
            svg.push_str(&format!(
                "<text class=\"f{index}\" x=\"{:.1}\" y=\"{:.1}\">ε = {epsilon}</text>",
                RIGHT + 8.0,
                y(tree(last)) + 4.0
            ));
        }
    }
    svg.push_str("</svg>");
    svg
}

fn legend() -> String {
    let mut svg = String::new();
    for (at, dash, name) in
        [(0.0, "", "binary tree"), (132.0, "7 4", "square root"), (268.0, "1.5 3.5", "lower bound")]
    {
        svg.push_str(&format!(
            "<line class=\"key\" stroke-dasharray=\"{dash}\" x1=\"{:.0}\" x2=\"{:.0}\" y1=\"38\" y2=\"38\"/><text x=\"{:.0}\" y=\"42\">{name}</text>",
            LEFT + at,
            LEFT + at + 28.0,
            LEFT + at + 35.0
        ));
    }
    svg
}
