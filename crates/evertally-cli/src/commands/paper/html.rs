//! The report as one self-contained HTML file. It is well-formed XML too.

use super::Report;
use super::claim::{Claim, Section, Slip, Table, Verdict};
use super::math::{self, Prose, push_escaped};

const STYLE: &str = "\
:root{--ink:#22262b;--faint:#5d656e;--line:#e3e6ea;--ground:#fff;--card:#f7f8fa;--good:#00664a;--part:#8a5a00;--bad:#b01e1e;--plain:#5d656e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--faint:#9aa3ad;--line:#31363c;--ground:#16191d;--card:#1d2126;--good:#2fc79b;--part:#e6b450;--bad:#ff8585;--plain:#9aa3ad}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif}
main{max-width:50rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.25rem;margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.02rem;margin:0;display:inline}
p{margin:.4rem 0}
article{padding:1rem 0;border-bottom:1px solid var(--line);overflow-wrap:break-word}
article:last-child{border-bottom:0}
.id{color:var(--faint);font-size:.85rem}
.verdict{font-size:.78rem;font-weight:600;border:1px solid currentColor;border-radius:1rem;padding:.05rem .55rem;margin-left:.4rem;white-space:nowrap}
.holds{color:var(--good)}.part{color:var(--part)}.fails{color:var(--bad)}.plain{color:var(--plain);font-weight:400}
.statement{font-family:Charter,'Iowan Old Style',Georgia,serif;color:var(--ink);margin:.4rem 0}
.scroll{overflow-x:auto;margin-top:.6rem}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--faint);vertical-align:bottom;white-space:normal;min-width:4.5rem}
td:first-child,th:first-child{text-align:left;min-width:2rem}
figure{margin:1rem 0}figure svg{width:100%;height:auto;display:block}
dl{margin:.4rem 0;display:grid;grid-template-columns:5rem 1fr;gap:.1rem .5rem}dt{color:var(--faint);font-size:.85rem;padding-top:.1rem}dd{margin:0}
@media(max-width:30rem){dl{display:block}dd{margin-bottom:.4rem}main{padding-top:1.2rem}}
nav{columns:20rem;margin:1rem 0;font-size:.92rem}nav a{color:inherit;text-decoration:none;display:block;padding:.1rem 0;break-inside:avoid}nav a:hover{text-decoration:underline}
h2 .number,nav .number{color:var(--faint);font-weight:400;display:inline-block;min-width:2.6rem}
.tally{display:flex;flex-wrap:wrap;gap:.4rem;margin:1rem 0}.tally .verdict{margin:0}
";

pub(super) fn render(report: &Report) -> String {
    let title = escaped(&report.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/><title>{title}</title><style>{STYLE}{}</style></head><body><main><h1>{title}</h1><p>{}</p>",
        math::STYLE,
        report.summary.html()
    );
    html.push_str("<div class=\"tally\">");
    for verdict in Verdict::ALL {
        let count = report.sections.iter().flat_map(|s| &s.claims).filter(|c| c.verdict == verdict).count();
        html.push_str(&badge(verdict, &format!("{count} {}", verdict.words())));
    }
    html.push_str("</div><nav>");
    for section in &report.sections {
        html.push_str(&format!("<a href=\"#{}\">{}</a>", anchor(section), heading(section)));
    }
    html.push_str("<a href=\"#slips\">Slips</a></nav>");
    for section in &report.sections {
        html.push_str(&format!("<section><h2 id=\"{}\">{}</h2>", anchor(section), heading(section)));
        for claim in &section.claims {
            html.push_str(&one_claim(claim, report));
        }
        html.push_str("</section>");
    }
    html.push_str(
        "<section><h2 id=\"slips\">Slips</h2><p>Where the text cannot be followed to the letter, in its order. \
         Marked are those that break privacy or a bound.</p>",
    );
    for (index, slip) in report.slips.iter().enumerate() {
        html.push_str(&one_slip(index + 1, slip));
    }
    html.push_str("</section></main></body></html>\n");
    html
}

fn anchor(section: &Section) -> String {
    if section.number.is_empty() { "abstract".to_owned() } else { format!("s{}", section.number) }
}

fn heading(section: &Section) -> String {
    if section.number.is_empty() {
        return section.title.html();
    }
    format!("<span class=\"number\">{}</span> {}", section.number, section.title.html())
}

fn badge(verdict: Verdict, words: &str) -> String {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsPartly => "part",
        Verdict::Fails | Verdict::Unproven => "fails",
        Verdict::Definition => "plain",
    };
    format!("<span class=\"verdict {class}\">{words}</span>")
}

fn one_claim(claim: &Claim, report: &Report) -> String {
    let mut html = format!(
        "<article><div class=\"id\">{}</div><h3>{}</h3> {}<div class=\"statement\">{}</div>",
        escaped(claim.id),
        claim.title.html(),
        badge(claim.verdict, claim.verdict.words()),
        claim.statement.html()
    );
    if !claim.finding.is_empty() {
        html.push_str(&format!("<p>{}</p>", claim.finding.html()));
    }
    if claim.id == "Figure 1" {
        for (_, svg) in &report.drawings {
            html.push_str(&format!("<figure>{svg}</figure>"));
        }
    }
    if let Some(table) = &claim.table {
        html.push_str(&one_table(table));
    }
    html.push_str("</article>");
    html
}

fn one_table(table: &Table) -> String {
    let cells = |tag: &str, row: &[Prose]| -> String {
        row.iter().map(|cell| format!("<{tag}>{}</{tag}>", cell.html())).collect()
    };
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>", cells("td", row))).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div>",
        cells("th", &table.head)
    )
}

fn one_slip(number: usize, slip: &Slip) -> String {
    let mark = if slip.matters { " <span class=\"verdict fails\">matters</span>" } else { "" };
    format!(
        "<article><div class=\"id\">{number} · {}</div><h3>{}</h3>{mark}<dl><dt>printed</dt><dd class=\"statement\">{}</dd>\
         <dt>correct</dt><dd class=\"statement\">{}</dd></dl><p>{}</p></article>",
        escaped(slip.place),
        slip.title.html(),
        slip.printed.html(),
        slip.correct.html(),
        slip.figures.html()
    )
}

fn escaped(text: &str) -> String {
    let mut html = String::new();
    text.chars().for_each(|character| push_escaped(&mut html, character));
    html
}
