//! The parser of conditions.

use super::{Comparison, Condition, Literal};
use crate::error::shown;

/// How deeply conditions may be nested. A parser that calls itself must end.
const MAX_DEPTH: usize = 64;

/// A condition, and the columns that it looks at, each once.
pub(super) fn parse(text: &str) -> Result<(Condition, Vec<String>), String> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, text, columns: Vec::new(), depth: 0 };
    let condition = parser.any()?;
    match parser.peek() {
        None => Ok((condition, parser.columns)),
        Some(_) => Err(parser.expected("and, or, or the end")),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A word: a column without quotes, or one of the language.
    Word(String),
    Column(String),
    Text(String),
    Number(Literal),
    Sign(&'static str),
}

/// The signs, of which longer ones come first.
const SIGNS: [&str; 11] = ["<=", ">=", "!=", "<>", "==", "=", "<", ">", "(", ")", ","];

/// The tokens, each with the place where it starts.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, length) = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '\'' => {
                let (content, length) = quoted(rest, '\'').ok_or_else(|| unclosed(text, at))?;
                (Token::Text(content.trim().to_owned()), length)
            }
            '"' => {
                let (content, length) = quoted(rest, '"').ok_or_else(|| unclosed(text, at))?;
                (Token::Column(content), length)
            }
            _ if first.is_ascii_digit() || "+-.".contains(first) => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let literal = number(&rest[..length])
                    .ok_or_else(|| format!("{} {} is no number", place(text, at), shown(&rest[..length])))?;
                (Token::Number(literal), length)
            }
            _ if is_word(first) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Token::Word(rest[..length].to_owned()), length)
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| {
                    format!("{} {} means nothing here", place(text, at), shown(&first.to_string()))
                })?;
                (Token::Sign(sign), sign.len())
            }
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_.\\".contains(c)
}

/// The content of a quoted text at the start, and the length with its quotes.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            content.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Some((content, at + 1));
        }
    }
    None
}

fn number(text: &str) -> Option<Literal> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Literal::Integer);
    }
    // "inf" and "nan" would parse as well.
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let number = text.parse::<f64>().ok().filter(|number| is_plain && number.is_finite())?;
    // Both zeros compare alike.
    Some(Literal::Decimal(number + 0.0))
}

fn place(text: &str, at: usize) -> String {
    format!("at character {}", text[..at].chars().count() + 1)
}

fn unclosed(text: &str, at: usize) -> String {
    format!("{} a quote is opened and never closed", place(text, at))
}

struct Parser<'a> {
    tokens: Vec<(usize, Token)>,
    next: usize,
    text: &'a str,
    columns: Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    /// The error at the next token.
    fn expected(&self, what: &str) -> String {
        match self.tokens.get(self.next) {
            Some((at, token)) => {
                let end = self.tokens.get(self.next + 1).map_or(self.text.len(), |(at, _)| *at);
                let got = match token {
                    Token::Sign(sign) => shown(sign),
                    _ => shown(self.text[*at..end].trim()),
                };
                format!("{} expected {what}, got {got}", place(self.text, *at))
            }
            None => format!("at the end expected {what}"),
        }
    }

    /// Takes a word of the language, in any case.
    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(next)) if *next == sign);
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.all()?];
        while self.takes_word("or") {
            parts.push(self.all()?);
        }
        Ok(single(parts, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.part()?];
        while self.takes_word("and") {
            parts.push(self.part()?);
        }
        Ok(single(parts, Condition::All))
    }

    fn part(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("expected at most {MAX_DEPTH} conditions inside each other"));
        }
        let part = if self.takes_word("not") {
            self.part().map(|part| Condition::Not(Box::new(part)))
        } else if self.takes_sign("(") {
            let inner = self.any()?;
            if !self.takes_sign(")") {
                return Err(self.expected("and, or, or a closing parenthesis"));
            }
            Ok(inner)
        } else {
            self.test()
        };
        self.depth -= 1;
        part
    }

    /// A column and what is asked of it.
    fn test(&mut self) -> Result<Condition, String> {
        let column = self.column()?;
        if self.takes_word("is") {
            let is_not = self.takes_word("not");
            if !self.takes_word("null") {
                return Err(self.expected("null or not null"));
            }
            return Ok(negated(is_not, Condition::IsNull { column }));
        }
        let is_not = self.takes_word("not");
        if self.takes_word("in") {
            return self.list().map(|literals| negated(is_not, Condition::In { column, literals }));
        }
        if is_not {
            return Err(self.expected("in"));
        }
        let comparison = match self.peek() {
            Some(Token::Sign("=" | "==")) => Comparison::Equal,
            Some(Token::Sign("!=" | "<>")) => Comparison::NotEqual,
            Some(Token::Sign("<")) => Comparison::Less,
            Some(Token::Sign("<=")) => Comparison::LessOrEqual,
            Some(Token::Sign(">")) => Comparison::Greater,
            Some(Token::Sign(">=")) => Comparison::GreaterOrEqual,
            _ => return Err(self.expected("=, !=, <, <=, >, >=, in or is null behind a column")),
        };
        self.next += 1;
        Ok(Condition::Compare { column, comparison, literal: self.literal()? })
    }

    fn column(&mut self) -> Result<usize, String> {
        const WORDS: [&str; 8] = ["and", "or", "not", "in", "is", "null", "true", "false"];
        let name = match self.peek() {
            Some(Token::Word(word)) if !WORDS.iter().any(|other| word.eq_ignore_ascii_case(other)) => {
                word.clone()
            }
            Some(Token::Column(name)) if !name.is_empty() => name.clone(),
            _ => return Err(self.expected("the name of a column")),
        };
        self.next += 1;
        Ok(self.columns.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.columns.push(name);
            self.columns.len() - 1
        }))
    }

    fn list(&mut self) -> Result<Vec<Literal>, String> {
        if !self.takes_sign("(") {
            return Err(self.expected("a list of values in parentheses"));
        }
        let mut literals = vec![self.literal()?];
        while self.takes_sign(",") {
            literals.push(self.literal()?);
        }
        if !self.takes_sign(")") {
            return Err(self.expected("a comma or a closing parenthesis"));
        }
        Ok(literals)
    }

    fn literal(&mut self) -> Result<Literal, String> {
        let literal = match self.peek() {
            Some(Token::Text(text)) => Literal::Text(text.clone()),
            Some(Token::Number(number)) => number.clone(),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("true") => Literal::Truth(true),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("false") => Literal::Truth(false),
            Some(Token::Word(_) | Token::Column(_)) => {
                return Err(self.expected("a number, or a text in single quotes"));
            }
            _ => return Err(self.expected("a number or a text in single quotes")),
        };
        self.next += 1;
        Ok(literal)
    }
}

fn negated(is_not: bool, condition: Condition) -> Condition {
    if is_not { Condition::Not(Box::new(condition)) } else { condition }
}

/// A single part is itself.
fn single(mut parts: Vec<Condition>, join: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    if parts.len() > 1 {
        return join(parts);
    }
    parts.pop().unwrap_or(Condition::All(Vec::new()))
}
