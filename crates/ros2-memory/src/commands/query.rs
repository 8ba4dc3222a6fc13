use ros2_memory_query::{
    CallContext, CallStats, ErrorCode,
    tools::{ArgumentKind, TOOLS, ToolSpec},
};
use serde_json::{Map, Value};

use crate::{
    cli::{QueryArgs, TransportOptions},
    exit::{Outcome, UsageError},
    progress::say,
    setup,
};

pub(crate) fn run(mut args: QueryArgs) -> anyhow::Result<Outcome> {
    let Some(spec) = ToolSpec::named(&args.tool) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let message = format!("there is no tool {:?}; there are {}", args.tool, names.join(", "));
        return Err(UsageError(message).into());
    };
    let given = std::mem::take(&mut args.arguments);
    let arguments = parse(spec, &given, &mut args)?;
    // One question is asked and answered: there is no live data to wait for.
    let loaded = setup::load(&args.config, &TransportOptions::default(), &[])?;
    let memory = setup::open(&loaded, false)?;
    setup::wait_until_indexed(&memory);
    let context = CallContext::with_time_limit(memory.settings().time_limit);
    let reply = memory.call(spec.name, &arguments, &context);
    super::print(&format!("{}\n", reply.value))?;
    if args.explain {
        say(&explanation(&reply.stats));
    }
    Ok(match reply.error {
        Some(ErrorCode::BadArgument | ErrorCode::UnknownTopic) => Outcome::Usage,
        Some(code) if code.is_error_result() => Outcome::Failed,
        _ => Outcome::Well,
    })
}

/// What an answer was found by, and what it cost.
fn explanation(stats: &CallStats) -> String {
    let CallStats { duration, bags_opened, chunks_read, messages_scanned, .. } = stats;
    #[expect(clippy::cast_precision_loss, reason = "megabytes in a sentence")]
    let inflated_mb = stats.chunk_bytes as f64 / 1e6;
    format!(
        "index: {}; bags passed over: {}, opened: {bags_opened}; chunks read: {chunks_read}, \
         {inflated_mb:.3} MB inflated; messages looked at: {messages_scanned}; {:.3} ms",
        stats.index,
        stats.bags_passed_over,
        duration.as_secs_f64() * 1e3
    )
}

/// Reads `--name value`, `--name=value` and `--json OBJECT`; the options of the command itself
/// may stand among them.
fn parse(
    spec: &ToolSpec,
    given: &[String],
    args: &mut QueryArgs,
) -> Result<Map<String, Value>, UsageError> {
    let mut arguments = Map::new();
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            let next = inline.clone().or_else(|| rest.next().cloned());
            next.ok_or_else(|| UsageError(format!("{name} needs a value")))
        };
        match name {
            "--json" => match serde_json::from_str(&value()?) {
                Ok(Value::Object(object)) => arguments.extend(object),
                Ok(_) => return Err(UsageError("--json needs an object".to_owned())),
                Err(error) => return Err(UsageError(format!("--json: {error}"))),
            },
            "--bag-dir" => args.config.bag_dir = Some(value()?.into()),
            "--config" => args.config.config = Some(value()?.into()),
            "--explain" => args.explain = true,
            "-o" => args.config.overrides.push(value()?),
            _ => {
                let key = name.strip_prefix("--").ok_or_else(|| {
                    UsageError(format!("{name:?} is not an argument; write --NAME VALUE"))
                })?;
                let key = key.replace('-', "_");
                let kind = spec.arguments.iter().find(|known| known.name == key).map(|k| k.kind);
                arguments.insert(key, json(&value()?, kind));
            }
        }
    }
    Ok(arguments)
}

/// A word of the shell as the JSON that the argument takes.
fn json(word: &str, kind: Option<ArgumentKind>) -> Value {
    match kind {
        Some(ArgumentKind::Any | ArgumentKind::Object) => {
            serde_json::from_str(word).unwrap_or_else(|_not_json| Value::String(word.to_owned()))
        }
        _ => Value::String(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ConfigOptions;
    use serde_json::json;

    fn parsed(words: &[&str]) -> Result<(Value, QueryArgs), String> {
        let spec = ToolSpec::named("find_last_match").unwrap();
        let mut args = QueryArgs {
            config: ConfigOptions::default(),
            explain: false,
            tool: String::new(),
            arguments: Vec::new(),
        };
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let arguments = parse(spec, &words, &mut args).map_err(|error| error.0)?;
        Ok((Value::Object(arguments), args))
    }

    #[test]
    fn words_of_the_shell_become_arguments() {
        let (arguments, args) = parsed(&[
            "--topic",
            "/odom",
            "--condition-type=near_position",
            "--value",
            "{\"x\":1,\"y\":-2}",
            "--bag-dir",
            "/bags",
            "-o",
            "a=b",
        ])
        .unwrap();
        assert_eq!(
            arguments,
            json!({"topic": "/odom", "condition_type": "near_position", "value": {"x": 1, "y": -2}})
        );
        assert_eq!(args.config.bag_dir, Some("/bags".into()));
        assert_eq!(args.config.overrides, ["a=b"]);
        let (arguments, _) = parsed(&["--value", "scissors"]).unwrap();
        assert_eq!(arguments, json!({"value": "scissors"}));
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        for words in [["odom"].as_slice(), &["--topic"], &["--json", "[]"], &["--json", "{"]] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
