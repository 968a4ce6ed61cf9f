//! The report as one self-contained HTML file.

use super::Report;
use super::claim::{Claim, Slip, Table, Verdict};

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
.id{color:var(--faint);font-size:.85rem}
.verdict{font-size:.78rem;font-weight:600;border:1px solid currentColor;border-radius:1rem;padding:.05rem .55rem;margin-left:.4rem;white-space:nowrap}
.holds{color:var(--good)}.part{color:var(--part)}.fails{color:var(--bad)}.plain{color:var(--plain);font-weight:400}
.statement{font-family:Charter,'Iowan Old Style',Georgia,serif;color:var(--ink)}
.scroll{overflow-x:auto;margin-top:.6rem}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--faint);vertical-align:bottom;white-space:normal;min-width:4.5rem}
sup,sub{line-height:0;font-size:.75em}
td:first-child,th:first-child{text-align:left;min-width:2rem}
figure{margin:1rem 0}figure svg{width:100%;height:auto;display:block}
dl{margin:.4rem 0;display:grid;grid-template-columns:5rem 1fr;gap:.1rem .5rem}dt{color:var(--faint);font-size:.85rem;padding-top:.1rem}dd{margin:0}
@media(max-width:30rem){dl{display:block}dd{margin-bottom:.4rem}main{padding-top:1.2rem}}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:1rem 0;font-size:.95rem}nav a{color:inherit}
.tally{display:flex;flex-wrap:wrap;gap:.4rem;margin:1rem 0}.tally .verdict{margin:0}
";

pub(super) fn render(report: &Report) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{0}</title><style>{STYLE}</style></head><body><main><h1>{0}</h1><p>{1}</p>",
        escaped(&report.title),
        escaped(&report.summary)
    );
    html.push_str("<div class=\"tally\">");
    for verdict in [
        Verdict::Holds,
        Verdict::HoldsPartly,
        Verdict::Fails,
        Verdict::Unproven,
        Verdict::NotComputed,
        Verdict::Definition,
    ] {
        let count = report.sections.iter().flat_map(|s| &s.claims).filter(|c| c.verdict == verdict).count();
        html.push_str(&badge(verdict, &format!("{count} {}", verdict.words())));
    }
    html.push_str("</div><nav>");
    for (index, section) in report.sections.iter().enumerate() {
        html.push_str(&format!("<a href=\"#s{index}\">{}</a>", escaped(section.title)));
    }
    html.push_str("<a href=\"#slips\">Slips</a></nav>");
    for (index, section) in report.sections.iter().enumerate() {
        html.push_str(&format!("<section><h2 id=\"s{index}\">{}</h2>", escaped(section.title)));
        for claim in &section.claims {
            html.push_str(&one_claim(claim, report));
        }
        html.push_str("</section>");
    }
    html.push_str("<section><h2 id=\"slips\">Slips</h2><p>Where the text cannot be followed to the letter. Marked are those that break privacy or a bound.</p>");
    for (index, slip) in report.slips.iter().enumerate() {
        html.push_str(&one_slip(index + 1, slip));
    }
    html.push_str("</section></main></body></html>\n");
    html
}

fn badge(verdict: Verdict, words: &str) -> String {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsPartly => "part",
        Verdict::Fails | Verdict::Unproven => "fails",
        Verdict::Definition | Verdict::NotComputed => "plain",
    };
    format!("<span class=\"verdict {class}\">{words}</span>")
}

fn one_claim(claim: &Claim, report: &Report) -> String {
    let mut html = format!(
        "<article><div class=\"id\">{}</div><h3>{}</h3>{}<p class=\"statement\">{}</p>",
        escaped(claim.id),
        escaped(claim.title),
        badge(claim.verdict, claim.verdict.words()),
        escaped(claim.statement)
    );
    if !claim.finding.is_empty() {
        html.push_str(&format!("<p>{}</p>", escaped(&claim.finding)));
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
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>", cells("td", row))).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div>",
        cells("th", &table.head)
    )
}

fn one_slip(number: usize, slip: &Slip) -> String {
    let mark = if slip.matters { "<span class=\"verdict fails\">matters</span>" } else { "" };
    format!(
        "<article><div class=\"id\">{number} · {}</div><h3>{}</h3>{mark}<dl><dt>printed</dt><dd class=\"statement\">{}</dd>\
         <dt>correct</dt><dd class=\"statement\">{}</dd></dl><p>{}</p></article>",
        escaped(slip.place),
        escaped(slip.title),
        escaped(slip.printed),
        escaped(slip.correct),
        escaped(&slip.figures)
    )
}

/// Text with its exponents raised and its indices lowered: 2^20, e^4ε, x^(−1/2), γ_F, θ_{t+1}.
fn escaped(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut html = String::new();
    let mut at = 0;
    while at < characters.len() {
        let tag = match characters[at] {
            '^' => "sup",
            '_' => "sub",
            other => {
                push_escaped(&mut html, other);
                at += 1;
                continue;
            }
        };
        let script = script(&characters[at + 1..], tag);
        let (inside, length) = script.unwrap_or((&characters[at..=at], 0));
        let inside: String = inside.iter().fold(String::new(), |mut text, &character| {
            push_escaped(&mut text, character);
            text
        });
        html.push_str(&if length == 0 { inside } else { format!("<{tag}>{inside}</{tag}>") });
        at += 1 + length;
    }
    html
}

/// The raised or lowered text without its brackets, and the number of characters it takes.
fn script<'a>(rest: &'a [char], tag: &str) -> Option<(&'a [char], usize)> {
    let closing = match rest.first()? {
        '(' if tag == "sup" => Some(')'),
        '{' => Some('}'),
        _ => None,
    };
    if let Some(closing) = closing {
        let end = rest.iter().position(|&character| character == closing)?;
        return Some((&rest[1..end], end + 1));
    }
    // An index is one sign, or two letters such as ij; an exponent runs on over letters and digits.
    let limit = if tag == "sup" { usize::MAX } else { 2 };
    let length = rest.iter().take_while(|c| c.is_alphanumeric() && !"²³⁴⁺".contains(**c)).count().min(limit);
    match length {
        0 if matches!(rest[0], '*' | '⋆') => Some((&rest[..1], 1)),
        0 => None,
        length => Some((&rest[..length], length)),
    }
}

fn push_escaped(html: &mut String, character: char) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        other => html.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn exponents_are_raised_and_indices_lowered() {
        assert_eq!(escaped("2^20 < e^4ε−1"), "2<sup>20</sup> &lt; e<sup>4ε</sup>−1");
        assert_eq!(escaped("(1−x)^(−1/2)"), "(1−x)<sup>−1/2</sup>");
        assert_eq!(
            escaped("γ_F² ‖A‖_* θ_{t+1} A_ij"),
            "γ<sub>F</sub>² ‖A‖<sub>*</sub> θ<sub>t+1</sub> A<sub>ij</sub>"
        );
        assert_eq!(escaped("a ^ b & c_"), "a ^ b &amp; c_");
    }
}
