//! The page: well-formed XML that loads nothing, with formulas as MathML.

use crate::common::{Place, column};

fn page() -> (Place, String) {
    let place = Place::new();
    assert_eq!(place.run("research paper --html paper.html --figure figures").ok().stdout, "");
    let page = String::from_utf8(place.read("paper.html")).unwrap();
    (place, page)
}

/// Reads XML without references to other files: every element is closed, in order, attributes are
/// quoted, and a bare `&` or `<` is an error. Returns the names of elements, with what surrounds
/// each.
fn elements(xml: &str) -> Vec<(String, Vec<String>)> {
    let mut open: Vec<String> = Vec::new();
    let mut all = Vec::new();
    let mut rest = xml.strip_prefix("<!DOCTYPE html>").unwrap_or(xml).trim();
    while !rest.is_empty() {
        let Some(tag) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            for reference in rest[..end].split('&').skip(1) {
                let name = reference.split(';').next().unwrap();
                assert!(["amp", "lt", "gt", "quot"].contains(&name), "&{name:.20}");
            }
            assert!(!open.is_empty() || rest[..end].trim().is_empty(), "text outside: {:.40}", &rest[..end]);
            rest = &rest[end..];
            continue;
        };
        let end = tag.find('>').expect("a tag is closed");
        let (inside, after) = (&tag[..end], &tag[end + 1..]);
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed out of order");
            continue;
        }
        let (inside, is_empty) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
        let (name, mut attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty(), "<{inside}>");
        while !attributes.trim().is_empty() {
            let (key, value) =
                attributes.trim_start().split_once("=\"").unwrap_or_else(|| panic!("<{inside}>"));
            assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "<{inside}>");
            let (value, left) = value.split_once('"').unwrap_or_else(|| panic!("<{inside}>"));
            assert!(!value.contains('<'), "<{inside}>");
            attributes = left;
        }
        all.push((name.to_owned(), open.clone()));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    all
}

#[test]
fn the_page_is_well_formed() {
    let (place, page) = page();
    let elements = elements(&page);
    let count = |name: &str| elements.iter().filter(|(known, _)| known == name).count();
    assert_eq!((count("html"), count("main"), count("svg")), (1, 1, 2));
    assert!(count("math") > 500 && count("mfrac") > 40 && count("mtable") >= 4);
    // MathML stands inside of math, and math in no other math.
    for (name, outer) in &elements {
        let inside = outer.iter().filter(|name| *name == "math").count();
        let is_formula = name.starts_with('m') && !["main", "meta", "math"].contains(&name.as_str());
        assert_eq!(inside, usize::from(is_formula), "{name} in {outer:?}");
    }
    // Elements of MathML with a fixed number of children.
    for (name, children) in
        [("mfrac", 2), ("msup", 2), ("msub", 2), ("msubsup", 3), ("munder", 2), ("munderover", 3)]
    {
        for (index, (_, outer)) in elements.iter().enumerate().filter(|(_, (known, _))| known == name) {
            let depth = outer.len() + 1;
            let inside = elements[index + 1..].iter().take_while(|(_, outer)| outer.len() >= depth);
            assert_eq!(inside.filter(|(_, outer)| outer.len() == depth).count(), children, "{name} {index}");
        }
    }
    for name in ["figure-1-paper.svg", "figure-1-exact.svg"] {
        let svg = std::fs::read_to_string(place.path("figures").join(name)).unwrap();
        assert!(self::elements(&svg).len() > 20 && !svg.contains("NaN"));
    }
}

#[test]
#[should_panic(expected = "closed out of order")]
fn the_check_sees_a_tag_that_is_not_closed() {
    elements("<p>a <b>c</p>");
}

#[test]
fn the_page_needs_nothing_beside_it() {
    let (place, page) = page();
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for outside in [
        "http:",
        "https:",
        "//",
        "<script",
        "<link",
        "<img",
        "<iframe",
        "@import",
        "@font-face",
        "url(",
        "src=",
    ] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
    let csv = String::from_utf8(std::fs::read(place.path("figures").join("figure-1.csv")).unwrap()).unwrap();
    assert_eq!(column(&csv, "n").len(), 3 * 40);
    let numbers =
        |name: &str| column(&csv, name).iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
    for (lower, root) in numbers("exact_lower").iter().zip(numbers("exact_square_root")) {
        assert!(*lower <= root && root.is_finite());
    }
}

#[test]
fn links_lead_to_headings() {
    let (_, page) = page();
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() > 15);
    for link in links {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
}
