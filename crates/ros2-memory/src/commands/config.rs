use crate::{
    cli::{ConfigCommand, TransportOptions},
    exit::Outcome,
    setup,
};

pub(crate) fn run(command: ConfigCommand) -> anyhow::Result<Outcome> {
    let transport = TransportOptions::default();
    match command {
        ConfigCommand::Check { config } => {
            let loaded = setup::load(&config, &transport, &[])?;
            let definitions =
                ros2_memory_config::load_definitions(&loaded.config.reader.custom_msg_paths);
            let mut text = "the configuration is right; read were\n".to_owned();
            for file in &loaded.files {
                text.push_str("  ");
                text.push_str(file);
                text.push('\n');
            }
            super::print(&text)?;
            for problem in &definitions.problems {
                crate::progress::say(problem);
            }
            let is_whole = definitions.problems.is_empty();
            Ok(if is_whole { Outcome::Well } else { Outcome::Losses })
        }
        ConfigCommand::Show { origin, config } => {
            let loaded = setup::load(&config, &transport, &[])?;
            super::print(&if origin { loaded.show_with_origins() } else { loaded.show() })?;
            Ok(Outcome::Well)
        }
    }
}
