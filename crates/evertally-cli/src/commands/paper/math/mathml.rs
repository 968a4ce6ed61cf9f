//! Formulas as MathML, which browsers render without help.

use super::parse::Node;

/// Rules of the page for formulas. A wide one scrolls by itself, so that the page never does.
pub(in super::super) const STYLE: &str = "\
math{font-size:1.04em}\
.formula{overflow-x:auto;overflow-y:hidden;margin:.5rem 0;padding:.1rem 0}\
.formula math{width:max-content;min-width:100%}";

/// Signs after which a line may break.
const RELATIONS: &str = "=≤≥<>≈≠→⇒⪰⪯∈,;:";

/// A formula in a line of text. It is divided after relations, because browsers do not break the
/// lines of a formula.
pub(super) fn inline(nodes: &[Node]) -> String {
    let is_relation = |node: &Node| matches!(node, Node::Operator(sign) if RELATIONS.contains(*sign));
    let parts: Vec<String> =
        nodes.split_inclusive(is_relation).map(|part| format!("<math>{}</math>", row(part))).collect();
    parts.join("<wbr/>")
}

/// A formula on a line of its own.
pub(super) fn display(nodes: &[Node]) -> String {
    format!("<div class=\"formula\"><math display=\"block\">{}</math></div>", row(nodes))
}

fn row(nodes: &[Node]) -> String {
    let mut mathml = String::new();
    for (index, node) in nodes.iter().enumerate() {
        // A sign that joins nothing takes no space.
        let before = nodes[..index].iter().rfind(|node| **node != Node::Space);
        if matches!(node, Node::Operator('-' | '−')) && matches!(before, None | Some(Node::Operator(_))) {
            mathml.push_str("<mo form=\"prefix\">−</mo>");
            continue;
        }
        mathml.push_str(&one(node));
        let next = nodes[index + 1..].iter().find(|node| **node != Node::Space);
        if is_name(node) && !matches!(next, None | Some(Node::Fenced(..) | Node::Operator(_))) {
            mathml.push_str("<mspace width=\"0.17em\"></mspace>");
        }
    }
    mathml
}

fn is_name(node: &Node) -> bool {
    match node {
        Node::Name(_) => true,
        Node::Scripts(base, ..) => is_name(base),
        _ => false,
    }
}

/// A row as one element.
fn single(nodes: &[Node]) -> String {
    match nodes {
        [node] if *node != Node::Space => one(node),
        _ => format!("<mrow>{}</mrow>", row(nodes)),
    }
}

fn one(node: &Node) -> String {
    match node {
        Node::Letter(letter) => format!("<mi>{letter}</mi>"),
        Node::Number(digits) => number(digits),
        Node::Name(name) => format!("<mi>{name}</mi>"),
        Node::Large('Σ') => "<mo>∑</mo>".to_owned(),
        Node::Large('Π') => "<mo>∏</mo>".to_owned(),
        Node::Large(sign) => format!("<mo>{sign}</mo>"),
        Node::Operator('/') => "<mo lspace=\"0\" rspace=\"0\">/</mo>".to_owned(),
        Node::Operator('-') => "<mo>−</mo>".to_owned(),
        Node::Operator(sign) => format!("<mo>{}</mo>", escaped(&sign.to_string())),
        // Plain spaces at the ends of an element are dropped.
        Node::Words(words) => format!("<mtext>{}</mtext>", escaped(&words.replace(' ', "\u{a0}"))),
        Node::Space => String::new(),
        Node::Group(nodes) => single(nodes),
        Node::Fenced(open, content, close) => {
            // Brackets that need not grow keep the width of letters.
            let stretchy = if content.iter().any(is_tall) { "" } else { " stretchy=\"false\"" };
            format!(
                "<mrow><mo form=\"prefix\"{stretchy}>{open}</mo>{}<mo form=\"postfix\"{stretchy}>{close}</mo></mrow>",
                row(content)
            )
        }
        Node::Fraction(above, below) => format!("<mfrac>{}{}</mfrac>", single(above), single(below)),
        Node::Hat(letter) => {
            format!("<mover accent=\"true\"><mi>{letter}</mi><mo stretchy=\"false\">^</mo></mover>")
        }
        Node::Root(content) => format!("<msqrt>{}</msqrt>", row(content)),
        Node::Scripts(base, below, above) => scripts(base, below.as_deref(), above.as_deref()),
        Node::Matrix(rows) => {
            let cells = |row: &Vec<Vec<Node>>| -> String {
                row.iter().map(|cell| format!("<mtd>{}</mtd>", single(cell))).collect()
            };
            let rows: String = rows.iter().map(|row| format!("<mtr>{}</mtr>", cells(row))).collect();
            format!(
                "<mrow><mo form=\"prefix\">(</mo><mtable>{rows}</mtable><mo form=\"postfix\">)</mo></mrow>"
            )
        }
    }
}

/// Whether a part is higher than a line of letters.
fn is_tall(node: &Node) -> bool {
    match node {
        Node::Fraction(..) | Node::Large(_) | Node::Matrix(_) => true,
        Node::Group(nodes) | Node::Root(nodes) | Node::Fenced(_, nodes, _) => nodes.iter().any(is_tall),
        Node::Scripts(base, ..) => is_tall(base),
        _ => false,
    }
}

/// A number. One such as 2.5e-7 becomes 2.5·10⁻⁷.
fn number(digits: &str) -> String {
    let Some((mantissa, exponent)) = digits.split_once('e') else { return format!("<mn>{digits}</mn>") };
    let exponent = match exponent.strip_prefix('-') {
        Some(digits) => format!("<mrow><mo>−</mo><mn>{digits}</mn></mrow>"),
        None => format!("<mn>{exponent}</mn>"),
    };
    let power = format!("<msup><mn>10</mn>{exponent}</msup>");
    if mantissa == "1" { power } else { format!("<mrow><mn>{mantissa}</mn><mo>·</mo>{power}</mrow>") }
}

fn scripts(base: &Node, below: Option<&[Node]>, above: Option<&[Node]>) -> String {
    // Limits of sums and of max stand below and above on a line of their own, and beside them in a
    // line of text. Those of integrals stand beside them.
    let has_limits =
        matches!(base, Node::Large('Σ' | 'Π') | Node::Name("argmin" | "inf" | "max" | "min" | "sup"));
    let base = single(std::slice::from_ref(base));
    match (below, above, has_limits) {
        (Some(below), Some(above), true) => {
            format!("<munderover>{base}{}{}</munderover>", single(below), single(above))
        }
        (Some(below), Some(above), false) => {
            format!("<msubsup>{base}{}{}</msubsup>", single(below), single(above))
        }
        (Some(below), None, true) => format!("<munder>{base}{}</munder>", single(below)),
        (Some(below), None, false) => format!("<msub>{base}{}</msub>", single(below)),
        (None, Some(above), _) => format!("<msup>{base}{}</msup>", single(above)),
        (None, None, _) => base,
    }
}

fn escaped(text: &str) -> String {
    let mut html = String::new();
    text.chars().for_each(|character| push_escaped(&mut html, character));
    html
}

/// Adds a character to HTML.
pub(in super::super) fn push_escaped(html: &mut String, character: char) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        other => html.push(other),
    }
}
