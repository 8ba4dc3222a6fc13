use std::{io, time::Duration};

use rmcp::{
    ErrorData, ServiceExt,
    model::{ClientJsonRpcMessage, ErrorCode, RequestId, ServerJsonRpcMessage},
    transport::stdio_pipes,
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use crate::{
    calls::{Calls, Carrier},
    error::ServerError,
    handler::Handler,
    lines::{Line, LineReader},
    port::Port,
    settings::Settings,
    transport::{ChannelTransport, Ends, QUEUE},
};

/// The longest line that is read; the same limit as for an HTTP body.
const LINE_BYTES: usize = 4 << 20;

/// How long calls may go on once the input ended; then they are told to stop.
const DRAIN: Duration = Duration::from_secs(1);

/// How long what is left may take after that.
const LAST_WORDS: Duration = Duration::from_millis(700);

/// Serves MCP over standard input and output until the input ends or `shutdown` is cancelled.
///
/// Requests that came before the end of the input are answered, within 2 s of it. Where an
/// input is not a pipe, a read that waits for it outlives this function: end the runtime with
/// `shutdown_background`.
///
/// # Errors
///
/// Input that cannot be read, output that cannot be written.
pub async fn serve_stdio(
    memory: impl Port,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), ServerError> {
    let (input, output) = stdio_pipes();
    serve_lines(memory, settings, input, output, shutdown).await
}

/// Serves MCP as lines of JSON over any pair of streams; see [`serve_stdio`].
///
/// # Errors
///
/// Input that cannot be read, output that cannot be written.
pub async fn serve_lines(
    memory: impl Port,
    settings: Settings,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> Result<(), ServerError> {
    let connection = shutdown.child_token();
    let _ends_with_this = connection.clone().drop_guard();
    // No limit on a send: whoever started the server may be stopped in a debugger.
    let (transport, ends) = ChannelTransport::new(connection.clone(), QUEUE, None);
    let Ends { messages, replies, own_replies } = ends;
    let input_ended = CancellationToken::new();
    let mut reading = tokio::spawn({
        let ended = input_ended.clone().drop_guard();
        async move {
            let _ended = ended;
            read_messages(input, messages, own_replies).await
        }
    });
    let mut writing = tokio::spawn(write_messages(output, replies));

    let handler = Handler::new(Calls::new(memory, settings), Carrier::Stdio, connection.clone());
    let serving = async {
        match handler.serve_with_ct(transport, connection.clone()).await {
            Ok(session) => {
                if let Err(error) = session.waiting().await {
                    tracing::error!(%error, "the session broke off");
                }
            }
            // An input that ends without a handshake is how health checks look.
            Err(error) => tracing::debug!(%error, "no session"),
        }
        // The reader holds a sender of replies, and the writer ends with the last of those.
        let read = if input_ended.is_cancelled() { (&mut reading).await } else { Ok(Ok(())) };
        reading.abort();
        let written = (&mut writing).await;
        (read, written)
    };
    let overdue = async {
        tokio::select! {
            () = input_ended.cancelled() => {}
            () = connection.cancelled() => {}
        }
        tokio::time::sleep(DRAIN).await;
        connection.cancel();
        tokio::time::sleep(LAST_WORDS).await;
    };
    let ended = tokio::select! {
        ended = serving => Some(ended),
        () = overdue => None,
    };
    let Some((read, written)) = ended else {
        tracing::warn!("ended with calls unanswered");
        reading.abort();
        writing.abort();
        return Ok(());
    };
    if let Ok(Err(source)) = read {
        return Err(ServerError::Read { source });
    }
    match written {
        Ok(Err(source)) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(ServerError::Write { source })
        }
        _ => Ok(()),
    }
}

/// Turns lines into messages until the input ends; what is no message gets an error at once.
async fn read_messages(
    input: impl AsyncRead + Unpin,
    messages: mpsc::Sender<ClientJsonRpcMessage>,
    own_replies: mpsc::Sender<ServerJsonRpcMessage>,
) -> io::Result<()> {
    let mut lines = LineReader::new(input, LINE_BYTES);
    loop {
        let parsed = match lines.next().await? {
            Line::End => return Ok(()),
            Line::TooLong => {
                let text = format!("a line is longer than {LINE_BYTES} bytes");
                Parsed::Wrong(None, ErrorData::invalid_request(text, None))
            }
            Line::Whole(line) => parse(line),
        };
        match parsed {
            Parsed::Message(message) => {
                if messages.send(*message).await.is_err() {
                    return Ok(());
                }
            }
            Parsed::Wrong(id, error) => {
                // No waiting: a peer that does not read what it gets would not read this.
                if own_replies.try_send(ServerJsonRpcMessage::error(error, id)).is_err() {
                    tracing::debug!("an error found no room");
                }
            }
            Parsed::Nothing => {}
        }
    }
}

/// What a line is.
enum Parsed {
    Message(Box<ClientJsonRpcMessage>),
    /// No message, and the error to answer with; the id where it can be told.
    Wrong(Option<RequestId>, ErrorData),
    /// Nothing that wants an answer.
    Nothing,
}

fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Parsed::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Parsed::Message(Box::new(message));
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("no JSON: {error}");
            return Parsed::Wrong(None, ErrorData::new(ErrorCode::PARSE_ERROR, text, None));
        }
    };
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    if id.is_none() && value.get("method").is_some() {
        // A notification, and those are never answered.
        return Parsed::Nothing;
    }
    Parsed::Wrong(id, ErrorData::invalid_request("no JSON-RPC 2.0 message", None))
}

/// Writes each message as one line, until the last sender is gone.
async fn write_messages(
    output: impl AsyncWrite + Unpin,
    mut replies: mpsc::Receiver<ServerJsonRpcMessage>,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Some(reply) = replies.recv().await {
        let mut line = serde_json::to_vec(&reply)?;
        line.push(b'\n');
        output.write_all(&line).await?;
        if replies.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
