//! Formulas as text.

use super::parse::Node;

/// A row of a formula as text.
pub(super) fn render(nodes: &[Node]) -> String {
    nodes.iter().map(one).collect()
}

fn one(node: &Node) -> String {
    match node {
        Node::Letter(sign) | Node::Operator(sign) | Node::Large(sign) => sign.to_string(),
        Node::Number(digits) => digits.clone(),
        Node::Name(name) => (*name).to_owned(),
        Node::Words(words) => words.clone(),
        Node::Space => " ".to_owned(),
        Node::Group(nodes) => render(nodes),
        Node::Fenced(open, content, close) => format!("{open}{}{close}", render(content)),
        Node::Fraction(above, below) => {
            let above = if is_sum(above) { format!("({})", render(above)) } else { render(above) };
            format!("{above}/{}", bracketed(below))
        }
        // The combining sign follows its letter.
        Node::Hat(letter) => format!("{letter}\u{302}"),
        Node::Root(content) => format!("√{}", bracketed(content)),
        Node::Scripts(base, below, above) => {
            let below = below.as_ref().map(|nodes| lowered(nodes)).unwrap_or_default();
            let above = above.as_ref().map(|nodes| raised(nodes)).unwrap_or_default();
            format!("{}{below}{above}", one(base))
        }
        Node::Matrix(rows) => {
            let row = |cells: &Vec<Vec<Node>>| {
                let cells: Vec<String> = cells.iter().map(|cell| render(cell)).collect();
                format!("[{}]", cells.join(", "))
            };
            let rows: Vec<String> = rows.iter().map(row).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

/// In brackets unless it is a single part.
fn bracketed(nodes: &[Node]) -> String {
    let text = render(nodes);
    if nodes.len() <= 1 { text } else { format!("({text})") }
}

/// Whether there is a sign between parts, outside of brackets.
fn is_sum(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| matches!(node, Node::Operator('+' | '−' | '/' | '±')))
}

/// A small whole exponent as raised digits, a longer one behind a caret.
fn raised(nodes: &[Node]) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = render(nodes);
    let digits = text.strip_prefix('−').unwrap_or(&text);
    let is_whole = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    if is_whole && (digits.len() == 1 || digits != text) {
        let sign = if digits == text { "" } else { "⁻" };
        let raised = digits.chars().filter_map(|c| c.to_digit(10)).map(|d| DIGITS[d as usize]);
        return std::iter::once(sign.to_owned()).chain(raised.map(String::from)).collect();
    }
    match text.as_str() {
        "*" | "⋆" | "ᵀ" | "†" => text,
        _ if nodes.len() == 1 => format!("^{text}"),
        _ => format!("^({text})"),
    }
}

/// An index of digits as lowered digits, another one behind a low line.
fn lowered(nodes: &[Node]) -> String {
    const DIGITS: [char; 10] = ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'];
    let text = render(nodes);
    if text.chars().all(|c| c.is_ascii_digit() || c == '→') {
        let lower = |c: char| c.to_digit(10).map_or(c, |digit| DIGITS[digit as usize]);
        return text.chars().map(lower).collect();
    }
    let is_short = nodes.len() == 1 || nodes.iter().all(|node| matches!(node, Node::Letter(_)));
    if is_short { format!("_{text}") } else { format!("_({text})") }
}
