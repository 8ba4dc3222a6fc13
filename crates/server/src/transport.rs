use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Messages that may wait in a queue, either way.
pub(crate) const QUEUE: usize = 64;

/// The ends of the two queues that a carrier keeps.
pub(crate) struct Ends {
    /// Takes what the peer sent.
    pub(crate) messages: mpsc::Sender<ClientJsonRpcMessage>,
    /// Gives what the peer is to get.
    pub(crate) replies: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Puts a reply of the carrier's own among the others.
    pub(crate) own_replies: mpsc::Sender<ServerJsonRpcMessage>,
}

/// One session as an `rmcp` transport: a queue each way, both bounded.
///
/// The carriers differ in how bytes get in and out of the queues, and share this. The bound of
/// `tokio`'s channel is strict, where that of `futures` grows by one for every clone of a sender.
pub(crate) struct ChannelTransport {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    replies: mpsc::Sender<ServerJsonRpcMessage>,
    in_flight: Arc<Mutex<HashSet<RequestId>>>,
    max_in_flight: usize,
    send_limit: Option<Duration>,
    session: CancellationToken,
}

impl ChannelTransport {
    /// A transport that takes `max_in_flight` requests at a time and cancels `session` when a
    /// reply finds no room within `send_limit`.
    pub(crate) fn new(
        session: CancellationToken,
        max_in_flight: usize,
        send_limit: Option<Duration>,
    ) -> (Self, Ends) {
        let (messages_in, messages) = mpsc::channel(QUEUE);
        let (replies, replies_out) = mpsc::channel(QUEUE);
        let ends =
            Ends { messages: messages_in, replies: replies_out, own_replies: replies.clone() };
        let in_flight = Arc::new(Mutex::new(HashSet::new()));
        (Self { messages, replies, in_flight, max_in_flight, send_limit, session }, ends)
    }

    /// Counts a request in, or says that there are too many.
    fn admits(&self, message: &ClientJsonRpcMessage) -> Result<(), RequestId> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if in_flight.len() >= self.max_in_flight {
                    return Err(request.id.clone());
                }
                in_flight.insert(request.id.clone());
            }
            // A cancelled request may never be answered, so its place is free from here on.
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    in_flight.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The peer is gone, or does not read what it is sent.
#[derive(Debug, thiserror::Error)]
#[error("the peer is gone or does not read")]
pub(crate) struct PeerGone;

impl Transport<RoleServer> for ChannelTransport {
    type Error = PeerGone;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), PeerGone>> + Send + 'static {
        let replies = self.replies.clone();
        let in_flight = self.in_flight.clone();
        let send_limit = self.send_limit;
        let session = self.session.clone();
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let sent = match send_limit {
                Some(limit) => {
                    matches!(tokio::time::timeout(limit, replies.send(message)).await, Ok(Ok(())))
                }
                None => replies.send(message).await.is_ok(),
            };
            // Only now: answers are sent by tasks of their own, and one that waits for room must
            // count, or they would pile up behind a peer that does not read.
            if let Some(id) = answered {
                in_flight.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            if sent {
                return Ok(());
            }
            session.cancel();
            Err(PeerGone)
        }
    }

    /// Never waits once it holds a message: `rmcp` drops this future whenever something else is
    /// ready first, and the message would be lost with it.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.messages.recv().await?;
            let Err(refused) = self.admits(&message) else { return Some(message) };
            let error = ErrorData::internal_error(
                format!("busy: {} requests are unanswered already", self.max_in_flight),
                None,
            );
            if self.replies.try_send(ServerJsonRpcMessage::error(error, Some(refused))).is_err() {
                self.session.cancel();
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), PeerGone> {
        self.messages.close();
        Ok(())
    }
}
