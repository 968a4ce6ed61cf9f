//! The formulas of the report: a small part of LaTeX, as a tree.
//!
//! | source | meaning |
//! |---|---|
//! | `x`, `12`, `σ`, `≤`, `½` | themselves; every letter is a variable of its own |
//! | `x^2`, `x_{t+1}`, `e^(2ε)` | scripts; a number is taken whole, and a script loses its outer brackets |
//! | `\frac{a}{b}`, `\sqrt{a}`, `\hat A` | fraction, root, roof |
//! | `\sum`, `\int`, `\prod` | with limits as scripts |
//! | `\ln`, `\max`, `\diag`, … | names in upright letters ([`NAMES`]) |
//! | `\text{ if }`, `\,`, `\quad` | words, spaces |
//! | `( )`, `[ ]`, `\{ \}`, `⟨ ⟩`, `‖ ‖`, `\| \|` | brackets that belong together |
//! | `\begin{pmatrix} a & b \\ c & d \end{pmatrix}` | a matrix |
//!
//! A formula that does not follow this is kept as far as it can be read. Nothing fails.

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// A letter.
    Letter(char),
    Number(String),
    /// An upright name such as ln.
    Name(&'static str),
    /// A sum, a product or an integral.
    Large(char),
    Operator(char),
    Words(String),
    /// White space in the source. It is kept in text alone.
    Space,
    Group(Vec<Node>),
    /// Brackets with what they hold.
    Fenced(char, Vec<Node>, char),
    Fraction(Vec<Node>, Vec<Node>),
    Root(Vec<Node>),
    /// A letter under a roof.
    Hat(char),
    /// A base with what stands below and above.
    Scripts(Box<Node>, Option<Vec<Node>>, Option<Vec<Node>>),
    Matrix(Vec<Vec<Vec<Node>>>),
}

/// Names of functions. A source writes them behind a backslash.
const NAMES: [&str; 15] = [
    "argmin", "csc", "det", "diag", "err", "exp", "inf", "lim", "ln", "log", "max", "min", "sup", "Regret",
    "Tr",
];

const BRACKETS: [(char, char); 5] = [('(', ')'), ('[', ']'), ('⟨', '⟩'), ('⌈', '⌉'), ('⌊', '⌋')];

/// Reads a formula.
pub(super) fn formula(source: &str) -> Vec<Node> {
    let characters: Vec<char> = source.trim().chars().collect();
    let mut parser = Parser { characters: &characters, at: 0 };
    let mut nodes = Vec::new();
    while parser.at < characters.len() {
        nodes.extend(parser.row(&[]));
        // Whatever closes nothing is dropped.
        parser.at += 1;
    }
    trimmed(nodes)
}

struct Parser<'a> {
    characters: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.characters.get(self.at + i) == Some(&c))
    }

    fn taken(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        if is_next {
            self.at += text.chars().count();
        }
        is_next
    }

    /// Nodes up to one of the ends or a closing brace, which is left to the caller.
    fn row(&mut self, ends: &[&str]) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        while let Some(next) = self.peek() {
            if next == '}' || ends.iter().any(|end| self.starts_with(end)) {
                break;
            }
            if next == '^' || next == '_' {
                self.script(&mut nodes);
            } else {
                nodes.extend(self.atom());
            }
        }
        nodes
    }

    /// Adds a script to the last node.
    fn script(&mut self, nodes: &mut Vec<Node>) {
        let is_above = self.peek() == Some('^');
        self.at += 1;
        let content = self.argument();
        let (base, mut below, mut above) = match nodes.pop() {
            Some(Node::Scripts(base, below, above)) => (base, below, above),
            Some(base) => (Box::new(base), None, None),
            None => (Box::new(Node::Group(Vec::new())), None, None),
        };
        *(if is_above { &mut above } else { &mut below }) = Some(content);
        nodes.push(Node::Scripts(base, below, above));
    }

    /// What belongs to a command or a script: a group in braces or brackets without them, or one
    /// atom.
    fn argument(&mut self) -> Vec<Node> {
        while self.peek() == Some(' ') {
            self.at += 1;
        }
        match self.peek() {
            None | Some('}' | '^' | '_') => Vec::new(),
            Some(_) => match self.atom() {
                Some(Node::Group(nodes) | Node::Fenced('(', nodes, _)) => trimmed(nodes),
                atom => atom.into_iter().collect(),
            },
        }
    }

    fn atom(&mut self) -> Option<Node> {
        let next = self.peek()?;
        if next == '\\' {
            return self.command();
        }
        if next.is_ascii_digit() {
            return Some(self.number());
        }
        self.at += 1;
        Some(match next {
            ' ' | '\n' => {
                while matches!(self.peek(), Some(' ' | '\n')) {
                    self.at += 1;
                }
                Node::Space
            }
            '{' => {
                let nodes = self.row(&[]);
                self.taken("}");
                Node::Group(nodes)
            }
            '‖' | '|' => self.fenced(next, next),
            '½' | '¼' => Node::Number(next.to_string()),
            '&' => Node::Space,
            letter if letter.is_alphabetic() || "∞…ᵀ∇†".contains(letter) => Node::Letter(letter),
            open => match BRACKETS.iter().find(|(known, _)| *known == open) {
                Some(&(_, close)) => self.fenced(open, close),
                None => Node::Operator(open),
            },
        })
    }

    /// What stands between brackets. Without the closing one, the opening one is an operator.
    fn fenced(&mut self, open: char, close: char) -> Node {
        let start = self.at;
        let end = close.to_string();
        let content = self.row(&[&end]);
        if self.taken(&end) {
            return Node::Fenced(open, content, close);
        }
        self.at = start;
        Node::Operator(open)
    }

    /// Digits, with a point between digits, a comma before three, and an exponent as in 1e-6.
    fn number(&mut self) -> Node {
        let digits = |from: usize| {
            self.characters.get(from..).unwrap_or_default().iter().take_while(|c| c.is_ascii_digit()).count()
        };
        let start = self.at;
        let mut end = start + digits(start);
        loop {
            let after = digits(end + 1);
            match self.characters.get(end) {
                Some('.') if after > 0 => end += 1 + after,
                Some(',') if after == 3 => end += 4,
                _ => break,
            }
        }
        if self.characters.get(end) == Some(&'e') {
            let sign = usize::from(self.characters.get(end + 1) == Some(&'-'));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        self.at = end;
        Node::Number(self.characters[start..end].iter().collect())
    }

    fn command(&mut self) -> Option<Node> {
        self.at += 1;
        let letters = self.characters[self.at..].iter().take_while(|c| c.is_ascii_alphabetic()).count();
        let name: String = self.characters
            [self.at..self.at + letters.max(1).min(self.characters.len() - self.at)]
            .iter()
            .collect();
        self.at += name.chars().count();
        let node = match name.as_str() {
            "" => return None,
            "frac" => Node::Fraction(self.argument(), self.argument()),
            "sqrt" => Node::Root(self.argument()),
            "hat" => match self.argument().first() {
                Some(&Node::Letter(letter)) => Node::Hat(letter),
                _ => return None,
            },
            "sum" => Node::Large('Σ'),
            "prod" => Node::Large('Π'),
            "int" => Node::Large('∫'),
            "text" => Node::Words(self.words()),
            "begin" => self.matrix(),
            "{" => {
                let content = self.row(&["\\}"]);
                self.taken("\\}");
                Node::Fenced('{', content, '}')
            }
            "," | ";" => Node::Words(" ".to_owned()),
            "quad" => Node::Words("  ".to_owned()),
            other => match NAMES.iter().find(|known| **known == other) {
                Some(known) => Node::Name(known),
                None => Node::Words(name),
            },
        };
        Some(node)
    }

    /// The text in braces as it stands.
    fn words(&mut self) -> String {
        self.taken("{");
        let words: String = self.characters[self.at..].iter().take_while(|&&c| c != '}').collect();
        self.at += words.chars().count();
        self.taken("}");
        words
    }

    fn matrix(&mut self) -> Node {
        const END: &str = "\\end{pmatrix}";
        self.words();
        let mut rows = vec![Vec::new()];
        loop {
            let cell = trimmed(self.row(&["&", "\\\\", END]));
            if let Some(row) = rows.last_mut() {
                row.push(cell);
            }
            if self.taken("\\\\") {
                rows.push(Vec::new());
            } else if !self.taken("&") {
                self.taken(END);
                return Node::Matrix(rows);
            }
        }
    }
}

/// Without space at either end.
fn trimmed(mut nodes: Vec<Node>) -> Vec<Node> {
    while nodes.last() == Some(&Node::Space) {
        nodes.pop();
    }
    let spaces = nodes.iter().take_while(|node| **node == Node::Space).count();
    nodes.drain(..spaces);
    nodes
}
