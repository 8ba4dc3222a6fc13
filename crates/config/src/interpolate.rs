//! `${oc.env:VAR}` and `${oc.env:VAR,default}` in text values; nothing else of `OmegaConf`.

use crate::{
    ConfigError, Problem,
    environment::Environment,
    origin::Place,
    yaml::{Node, Value},
};

/// Replaces every reference to the environment in the text values of a tree. Keys stay as they
/// are.
///
/// # Errors
///
/// A `${...}` of another form, a variable that is not set and has no default.
pub(crate) fn interpolate(
    node: &mut Node,
    place: &Place,
    environment: Environment<'_>,
) -> Result<(), ConfigError> {
    match &mut node.value {
        Value::Text(text) if text.contains("${") => {
            let text = expand(text, environment).map_err(|message| {
                Problem::Interpolation { message }.at(place.at(node.position))
            })?;
            node.value = Value::EnvironmentText(text);
            Ok(())
        }
        Value::List(items) => {
            items.iter_mut().try_for_each(|item| interpolate(item, place, environment))
        }
        Value::Map(entries) => entries
            .iter_mut()
            .try_for_each(|entry| interpolate(&mut entry.value, place, environment)),
        _ => Ok(()),
    }
}

fn expand(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, after) =
            after.split_once('}').ok_or("a `${` without its `}`; only ${oc.env:VAR} is known")?;
        expanded.push_str(before);
        expanded.push_str(&value_of(reference, environment)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value_of(reference: &str, environment: Environment<'_>) -> Result<String, String> {
    let inside = reference.strip_prefix("oc.env:").filter(|inside| !inside.contains("${"));
    let Some(inside) = inside else {
        return Err(format!(
            "`${{{reference}}}` is not known; only ${{oc.env:VAR}} and ${{oc.env:VAR,default}} are"
        ));
    };
    let (variable, default) = match inside.split_once(',') {
        Some((variable, default)) => (variable.trim(), Some(default.trim())),
        None => (inside.trim(), None),
    };
    if !is_variable(variable) {
        return Err(format!("`{variable}` in `${{{reference}}}` is no name of a variable"));
    }
    match (environment(variable), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable {variable} is not set; ${{oc.env:{variable},default}} would \
             give it a default"
        )),
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        expand(text, &|name| (name == "HOME_DIR").then(|| "/home/r".to_owned()))
    }

    #[test]
    fn variables_and_their_defaults_are_put_in() {
        for (text, expected) in [
            ("${oc.env:HOME_DIR}/bags", "/home/r/bags"),
            ("${oc.env:HOME_DIR,/x}", "/home/r"),
            ("${oc.env:NOT_SET, 5 }", "5"),
            ("a ${oc.env:NOT_SET,} b ${oc.env:HOME_DIR}", "a  b /home/r"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "${server.port}",
            "${oc.env:NOT_SET}",
            "${oc.env:}",
            "${oc.env:1X}",
            "${oc.env:A",
            "${}",
            "${oc.env:A,${oc.env:B}}",
            "${oc.decode:x}",
        ] {
            assert!(expanded(text).is_err(), "{text}");
        }
    }
}
