//! Prose with formulas: one source, written as readable text and as HTML with MathML.
//!
//! A formula stands between dollar signs, `$…$` in a line of text and `$$…$$` on a line of its own,
//! in a small part of LaTeX ([`parse`]). Greek letters and signs are written as themselves.

mod mathml;
mod parse;
mod plain;

pub(super) use mathml::{STYLE, push_escaped};

use serde::{Serialize, Serializer};
use std::fmt;

/// Text that may hold formulas. It is serialized as readable text.
#[derive(Debug, Clone, Default)]
pub(super) struct Prose(String);

/// A piece of prose.
enum Piece<'a> {
    Text(&'a str),
    Inline(&'a str),
    Display(&'a str),
}

impl Prose {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As text, for terminals and JSON.
    pub(super) fn plain(&self) -> String {
        let mut text = String::new();
        for piece in self.pieces() {
            match piece {
                Piece::Text(words) => text.push_str(words),
                Piece::Inline(formula) | Piece::Display(formula) => {
                    text.push_str(&plain::render(&parse::formula(formula)));
                }
            }
        }
        // Spaces of formulas may stand beside those of the text.
        text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// As HTML.
    pub(super) fn html(&self) -> String {
        let mut html = String::new();
        for piece in self.pieces() {
            match piece {
                Piece::Text(words) => words.chars().for_each(|c| push_escaped(&mut html, c)),
                Piece::Inline(formula) => html.push_str(&mathml::inline(&parse::formula(formula))),
                Piece::Display(formula) => html.push_str(&mathml::display(&parse::formula(formula))),
            }
        }
        html
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            for mark in ["$$", "$"] {
                let inside = rest.strip_prefix(mark).and_then(|rest| rest.split_once(mark));
                if let Some((formula, after)) = inside {
                    rest = after;
                    return Some(if mark == "$" { Piece::Inline(formula) } else { Piece::Display(formula) });
                }
            }
            // A single dollar sign is text.
            let from = usize::from(rest.starts_with('$'));
            let end = rest[from..].find('$').map_or(rest.len(), |at| at + from);
            let (text, after) = rest.split_at(end);
            rest = after;
            Some(Piece::Text(text))
        })
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.plain())
    }
}

impl Serialize for Prose {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.plain())
    }
}

#[cfg(test)]
mod tests {
    use super::Prose;

    fn plain(text: &str) -> String {
        Prose::from(text).plain()
    }

    fn html(text: &str) -> String {
        Prose::from(text).html()
    }

    #[test]
    fn text_is_readable() {
        for (source, text) in [
            ("costs $2 & more", "costs $2 & more"),
            (r"$(1 + \frac{\ln(4n/5)}{π})^2$", "(1 + ln(4n/5)/π)²"),
            (r"$\frac{\ln(2n+1)}{2n}$", "ln(2n+1)/(2n)"),
            (r"$\frac{a+b}{(c+d)^2}$", "(a+b)/(c+d)²"),
            (r"at $n = 2^20$, $δ = 10^{−6}$", "at n = 2^20, δ = 10⁻⁶"),
            (r"$e^{4ε} − e^(2ε) + (1−x)^{−1/2}$", "e^(4ε) − e^(2ε) + (1−x)^(−1/2)"),
            (r"$‖R‖_{1→2} ‖L‖_F^2 ‖A‖_* θ_(t+1) A_{ij} v^*$", "‖R‖₁→₂ ‖L‖_F² ‖A‖_* θ_(t+1) A_ij v*"),
            (r"$\sqrt{2a/n} \sqrt n \sum_{k<t} f(k)^2$", "√(2a/n) √n Σ_(k<t) f(k)²"),
            (r"$\begin{pmatrix} a & b \\ c & d \end{pmatrix} ⪰ 0$", "[[a, b], [c, d]] ⪰ 0"),
            (r"$\max_x ⟨g, x⟩ \text{ if } \Tr(X) = 1$", "max_x ⟨g, x⟩ if Tr(X) = 1"),
        ] {
            assert_eq!(plain(source), text, "{source}");
        }
    }

    #[test]
    fn formulas_are_mathml() {
        assert_eq!(html("a < b"), "a &lt; b");
        assert_eq!(html("$x^2$"), "<math><msup><mi>x</mi><mn>2</mn></msup></math>");
        assert_eq!(html(r"$\frac{n}{2}$"), "<math><mfrac><mi>n</mi><mn>2</mn></mfrac></math>");
        assert_eq!(html("$−1$"), "<math><mo form=\"prefix\">−</mo><mn>1</mn></math>");
        // A line may break after a relation.
        assert_eq!(html("$n = 3$"), "<math><mi>n</mi><mo>=</mo></math><wbr/><math><mn>3</mn></math>");
        assert_eq!(
            html("$‖R‖_{1→2}$"),
            "<math><msub><mrow><mo form=\"prefix\" stretchy=\"false\">‖</mo><mi>R</mi>\
             <mo form=\"postfix\" stretchy=\"false\">‖</mo></mrow>\
             <mrow><mn>1</mn><mo>→</mo><mn>2</mn></mrow></msub></math>"
        );
        assert!(html("$$a ≤ b$$").starts_with("<div class=\"formula\"><math display=\"block\">"));
        assert!(
            html(r"$\sum_{i=1}^n i$").contains("<munderover>")
                || html(r"$\sum_{i=1}^n i$").contains("<msubsup>")
        );
    }

    #[test]
    fn unbalanced_formulas_are_still_text() {
        for source in [
            r"$\frac{a$",
            "$}$",
            "$x^$",
            "$(a$",
            "$‖a$",
            r"$\unknown{x}$",
            r"$\begin{pmatrix} a$",
            "$a_$",
            r"$\$",
        ] {
            let (text, page) = (plain(source), html(source));
            assert!(!text.is_empty() || source.len() < 5, "{source}");
            assert_eq!(page.matches("<m").count(), page.matches("</m").count(), "{source}: {page}");
        }
    }
}
