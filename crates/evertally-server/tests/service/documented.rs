//! Checks every answer against the OpenAPI document: its status, its media type, and the shape of its body.

use crate::client::Answer;
use serde_json::Value;
use std::sync::LazyLock;

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&evertally_server::openapi()).unwrap());

/// A route: its path, its method, and the roles that it needs.
pub(crate) fn routes() -> Vec<(String, String, Option<Vec<String>>)> {
    let mut routes = Vec::new();
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let roles = operation.get("security").map(|security| {
                let roles = security[0]["bearer"].as_array().unwrap();
                roles.iter().map(|role| role.as_str().unwrap().to_owned()).collect()
            });
            routes.push((path.clone(), method.to_ascii_uppercase(), roles));
        }
    }
    routes
}

/// Fails when an answer is not documented. Paths outside the document are skipped.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap();
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == parts.len()
            && template.iter().zip(&parts).all(|(a, b)| a.starts_with('{') || a == b)
    };
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let Some((_, item)) = paths.iter().find(|(template, _)| fits(template)) else { return };
    let Some(operation) = item.get(method.to_ascii_lowercase()) else { return };
    let place = format!("{method} {path} {}", answer.status);
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{place} is not documented: {}", answer.text());
    let Some(content) = response.get("content") else {
        return assert!(answer.body.is_empty(), "{place} has a body");
    };
    let media_type = answer.header("content-type").unwrap_or_default().split(';').next().unwrap().to_owned();
    let schema =
        content.get(&media_type).unwrap_or_else(|| panic!("{place}: {media_type:?} is not documented"));
    if media_type == "application/json"
        && let Err(fault) = fits_schema(&answer.json(), &schema["schema"])
    {
        panic!("{place}: {fault}: {}", answer.text());
    }
}

/// Checks the part of JSON Schema that the document uses.
fn fits_schema(value: &Value, schema: &Value) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        return fits_schema(value, &DOCUMENT["components"]["schemas"][name])
            .map_err(|fault| format!("{name}: {fault}"));
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = choices.iter().filter(|choice| fits_schema(value, choice).is_ok()).count();
        return if fitting == 1 { Ok(()) } else { Err(format!("{fitting} of several schemas fit {value}")) };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Err(format!("{schema} has no type")),
    };
    let is = |name: &&str| match *name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    };
    if !types.iter().any(is) {
        return Err(format!("{value} is none of {types:?}"));
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array)
        && !names.contains(value)
    {
        return Err(format!("{value} is none of {names:?}"));
    }
    if let Some(items) = value.as_array() {
        items.iter().try_for_each(|item| fits_schema(item, &schema["items"]))?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("{name} is missing"));
        }
    }
    if schema["additionalProperties"] != Value::Bool(false) {
        return Err("further fields are allowed".to_owned());
    }
    for (name, field) in object {
        let known = schema["properties"].get(name).ok_or_else(|| format!("{name} is unknown"))?;
        fits_schema(field, known).map_err(|fault| format!("{name}: {fault}"))?;
    }
    Ok(())
}

#[test]
fn the_document_is_whole() {
    assert_eq!(DOCUMENT["openapi"], "3.1.0");
    let mut names: Vec<String> = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "names of operations are not unique");
    assert!(count >= 20);
    // Every reference has its schema.
    let text = DOCUMENT.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap())
    {
        assert!(DOCUMENT["components"]["schemas"].get(reference).is_some(), "{reference} is missing");
    }
    // Every object lists its fields and allows no others.
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        if schema["type"] == "object" {
            assert_eq!(schema["additionalProperties"], false, "{name}");
        }
    }
}

#[test]
fn the_check_can_fail() {
    let answer = |status, body: &str| Answer {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.as_bytes().to_vec(),
    };
    let fails = |answer: Answer| std::panic::catch_unwind(|| check("GET", "/readyz", &answer)).is_err();
    assert!(!fails(answer(200, r#"{"mode":"running","reason":null}"#)));
    assert!(fails(answer(418, r#"{"mode":"running","reason":null}"#)));
    assert!(fails(answer(200, r#"{"mode":"sleeping","reason":null}"#)));
    assert!(fails(answer(200, r#"{"mode":"running"}"#)));
    assert!(fails(answer(200, r#"{"mode":"running","reason":null,"more":1}"#)));
}
