/// The names that always mean this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The host names under which the server may be reached.
///
/// A web page that was opened elsewhere can make a browser send requests to this machine: under
/// its own name when that name is made to resolve here (DNS rebinding), or from its own origin.
/// Neither carries one of these names. Names are compared whole, so that `localhost.` or
/// `localhost.example` are foreign; ports do not matter.
#[derive(Debug, Clone)]
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    pub(super) fn new(allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|name| {
            let name = name.trim().to_ascii_lowercase();
            // An IPv6 address is bracketed wherever a port may follow it.
            if name.contains(':') && !name.starts_with('[') { format!("[{name}]") } else { name }
        });
        let names = LOOPBACK.iter().map(|&name| name.to_owned()).chain(allowed);
        Self(names.filter(|name| !name.is_empty()).collect())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a `Host` header, or the authority of a request target, names this server.
    pub(super) fn allow_host(&self, authority: &str) -> bool {
        let name = without_port(authority);
        self.names().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }

    /// Whether an `Origin` header (RFC 6454) names a page of this server's hosts.
    ///
    /// `null`, which pages without an origin of their own send, is foreign.
    pub(super) fn allow_origin(&self, origin: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        is_web && self.allow_host(authority)
    }
}

/// The host of `host[:port]`; what is no port stays, and then matches no name.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok() =>
        {
            host
        }
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_are_allowed_with_any_port_and_in_any_case() {
        let hosts = Hosts::new(&[]);
        for host in [
            "localhost",
            "localhost:9203",
            "LocalHost:1",
            "127.0.0.1",
            "127.0.0.1:65535",
            "[::1]",
            "[::1]:9203",
        ] {
            assert!(hosts.allow_host(host), "{host}");
            assert!(hosts.allow_origin(&format!("http://{host}")), "{host}");
            assert!(hosts.allow_origin(&format!("HTTPS://{host}")), "{host}");
        }
    }

    #[test]
    fn what_only_looks_like_a_loopback_name_is_foreign() {
        let hosts = Hosts::new(&[]);
        for host in [
            "",
            ":",
            ":80",
            "localhost.",
            "localhost.:80",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost.evil.example",
            "evil.example",
            "127.0.0.1.evil.example",
            "user@localhost",
            "localhost:80@evil.example",
            "localhost/evil",
            " localhost",
            "127.0.0.2",
            "127.1",
            "2130706433",
            "0.0.0.0",
            "::1",
            "[::1",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:0:0:1]",
        ] {
            assert!(!hosts.allow_host(host), "{host}");
            assert!(!hosts.allow_origin(&format!("http://{host}")), "{host}");
        }
        for origin in ["null", "localhost", "file://", "http:localhost", "ws://localhost"] {
            assert!(!hosts.allow_origin(origin), "{origin}");
        }
        assert!(!hosts.allow_origin("http://localhost/"));
        assert!(!hosts.allow_origin("http://localhost http://evil.example"));
    }

    #[test]
    fn configured_names_are_allowed_beside_the_loopback_ones() {
        let hosts = Hosts::new(&["Robot.local".into(), "fd00::7".into(), " ".into()]);
        assert!(hosts.allow_host("robot.LOCAL:80"));
        assert!(hosts.allow_host("[fd00::7]:80"));
        assert!(hosts.allow_host("localhost"));
        assert!(!hosts.allow_host("robot.local."));
        assert!(!hosts.allow_host(""));
    }
}
