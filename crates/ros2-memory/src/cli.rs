//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A robot's episodic memory: answers questions about what its ROS topics recorded.
#[derive(Debug, Parser)]
#[command(name = "ros2-memory", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// How logs on standard error look.
    #[arg(long, value_enum, default_value_t = LogFormat::Auto, global = true)]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// For people.
    Pretty,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer questions over MCP, on standard input and output or over HTTP.
    #[command(after_help = "Example: ros2-memory serve --transport http --bag-dir ~/bags")]
    Serve(ServeArgs),
    /// Bring the catalog of the bag directory up to date, and exit.
    #[command(after_help = "Example: ros2-memory index --bag-dir ~/bags")]
    Index(IndexArgs),
    /// Ask any tool from the shell; its JSON comes on standard output.
    #[command(
        after_help = "Examples:\n  ros2-memory query list_recorded_topics\n  ros2-memory query \
                      get_position_seconds_ago --seconds_ago 10\n  ros2-memory query \
                      find_last_match --json '{\"topic\":\"/vision/*/scene_objects\",\
                      \"condition_type\":\"contains\",\"value\":\"scissors\"}'\n\nExit codes: 0 \
                      for an answer, also when it is no_data; 2 for a bad argument or unknown \
                      topic; 1 for anything else."
    )]
    Query(QueryArgs),
    /// What bags hold, with the fields of `ros2 bag info`.
    #[command(after_help = "Example: ros2-memory info ~/bags/run_20261130T104400Z")]
    Info(InfoArgs),
    /// Messages in timeline order, one JSON object a line.
    #[command(
        after_help = "Example: ros2-memory cat ~/bags --topics /odom '/vision/**' --start -10s\n\n\
                      --start is inclusive, --end exclusive; spans such as -10s count from the \
                      last message. Numbers that are not finite are null."
    )]
    Cat(CatArgs),
    /// What is wrong with recordings: every byte is read, every message decoded, and each file's
    /// own index compared with what is there.
    #[command(
        after_help = "Examples:\n  ros2-memory doctor ~/bags/run_20261130T104400Z\n  ros2-memory \
                      doctor --json drive.mcap\n  ros2-memory doctor            the configured \
                      bag directory\n\nExit codes: 0 when no data is lost, 3 when some is, 1 when \
                      nothing could be read."
    )]
    Doctor(DoctorArgs),
    /// Check or show the resolved configuration.
    Config(ConfigArgs),
    /// Make a synthetic robot history with known truth, and serve it.
    #[command(
        after_help = "Examples:\n  ros2-memory demo                            an hour, served at \
                      http://127.0.0.1:9203\n  ros2-memory demo --hours 168 --write-only    a week, \
                      written and not served"
    )]
    Demo(DemoArgs),
}

impl Command {
    /// Whether it runs until it is told to end.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_)) || matches!(self, Self::Demo(args) if !args.write_only)
    }
}

/// What every command over a bag directory takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigOptions {
    /// The configuration folder [default: ./config when it holds a config.yaml].
    #[arg(long, value_name = "DIR")]
    pub(crate) config: Option<PathBuf>,
    /// Override a setting or choose a group file, such as -o server.port=9300 -o recorder=none.
    #[arg(short = 'o', value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// The directory of the bags.
    #[arg(long, value_name = "DIR")]
    pub(crate) bag_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TransportOptions {
    /// stdio, http, or sse, which is another name for http.
    #[arg(long, value_parser = ["stdio", "http", "sse"])]
    pub(crate) transport: Option<String>,
    /// The port that http listens on, on 127.0.0.1.
    #[arg(long)]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) transport: TransportOptions,
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Forget what is known and go over every bag again.
    #[arg(long)]
    pub(crate) rebuild: bool,
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
}

#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
    /// Says on standard error by which index the answer was found, what was passed over and what
    /// was read.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The tool, such as `get_position_seconds_ago`.
    pub(crate) tool: String,
    /// Its arguments: --NAME VALUE, or --json OBJECT for all of them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--NAME VALUE")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Recordings, or folders of them at any depth.
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// For programs: one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// Recordings, or folders of them at any depth.
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Only these topics; * is one token, ** any depth.
    #[arg(long, num_args = 1.., value_name = "TOPIC")]
    pub(crate) topics: Vec<String>,
    /// The first moment: unix seconds, nanoseconds, ISO 8601, or a span such as -10s.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) start: Option<String>,
    /// The moment before which it ends.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) end: Option<String>,
    /// The stored payload as `data_base64` instead of its fields.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Folders of .msg files, for recordings that hold no definitions.
    #[arg(long, value_name = "DIR")]
    pub(crate) msg_path: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Recordings, or folders of them at any depth [default: the configured bag directory].
    pub(crate) paths: Vec<PathBuf>,
    /// For programs: one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
    /// Folders of .msg files, for recordings that hold no definitions.
    #[arg(long, value_name = "DIR")]
    pub(crate) msg_path: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say whether the configuration is right, or file, line and column of what is wrong.
    Check {
        #[command(flatten)]
        config: ConfigOptions,
    },
    /// Print the resolved configuration.
    Show {
        /// Where each value came from, as a comment behind it.
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        config: ConfigOptions,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where it is written; a history that lies there already is served again.
    #[arg(long, default_value = "data/demo", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// How long the history is.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) hours: f64,
    /// Chooses where the robot goes and what it sees.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// When it starts, as ISO 8601 or unix seconds [default: so that it ends now].
    #[arg(long)]
    pub(crate) start: Option<String>,
    /// Write it and exit.
    #[arg(long)]
    pub(crate) write_only: bool,
    #[command(flatten)]
    pub(crate) transport: TransportOptions,
}
