//! A headless Chromium, driven over a pipe by its DevTools protocol.
//!
//! The pipe needs neither a port nor a WebSocket: messages are JSON that ends with a zero byte, on
//! the browser's file descriptors 3 and 4.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::skip::skip;

/// Longest wait for an answer or a condition, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often a condition is checked.
const STEP: Duration = Duration::from_millis(100);

/// A browser with one page.
pub struct Browser {
    process: Child,
    pipe: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    next: u64,
    /// URLs requested since the last page was opened.
    pub requests: Vec<String>,
    /// Dialogs that pages opened.
    pub dialogs: Vec<String>,
    /// Errors on the console.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Debian's `chromium`; without it, [skips](skip) the test.
    pub fn start() -> Option<Browser> {
        let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
        let Some(binary) = places.into_iter().find(|place| std::path::Path::new(place).exists())
        else {
            skip("there is no chromium in /usr/bin");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let command = format!(
            "exec {binary} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
             --disable-background-networking --disable-component-update --disable-sync \
             --disable-dev-shm-usage --user-data-dir='{}' --remote-debugging-pipe about:blank \
             3<&0 4>&1 </dev/null >/dev/null 2>/dev/null",
            profile.path().display()
        );
        let mut process = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let sent = serde_json::from_slice(&message).map(|message| sender.send(message));
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Browser {
            process,
            pipe,
            messages,
            session: String::new(),
            next: 0,
            requests: Vec::new(),
            dialogs: Vec::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let wish = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &wish);
        session["sessionId"].as_str().unwrap().clone_into(&mut self.session);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Calls a method of the DevTools protocol and waits for its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.pipe.write_all(message.to_string().as_bytes()).unwrap();
        self.pipe.write_all(&[0]).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left);
            let answer = answer.unwrap_or_else(|_| panic!("the browser did not answer {method}"));
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    /// Records an event.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            "Page.javascriptDialogOpening" => {
                self.dialogs.push(parameters["message"].to_string());
                // Nobody waits for the answer.
                self.next += 1;
                let close = json!({
                    "id": self.next, "method": "Page.handleJavaScriptDialog",
                    "params": { "accept": false }, "sessionId": self.session,
                });
                self.pipe.write_all(close.to_string().as_bytes()).unwrap();
                self.pipe.write_all(&[0]).unwrap();
            }
            "Runtime.exceptionThrown" => {
                self.complaints.push(parameters["exceptionDetails"].to_string());
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.complaints.push(parameters["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    /// Opens a URL and waits until it has loaded.
    pub fn open(&mut self, url: &str) {
        self.requests.clear();
        self.call("Page.navigate", &json!({ "url": url }));
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Evaluates an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let wish = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", &wish);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Evaluates an expression to text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.value(expression) != Value::Bool(true) {
            assert!(
                Instant::now() < until,
                "never: {expression} at {}",
                self.text("location.href")
            );
            std::thread::sleep(STEP);
        }
    }

    /// Presses a key: a letter, `Tab`, `Enter`, `ArrowRight` or `End`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "ArrowRight" => (39, ""),
            "End" => (35, ""),
            other => (0, other),
        };
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Inserts text into the focused field.
    pub fn type_in(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Turns scripts on or off.
    pub fn allow_scripts(&mut self, is_allowed: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": !is_allowed }));
    }

    /// Sets the size of the viewport and the colour scheme, `light` or `dark`.
    pub fn dress(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", &media);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An expression that lists what is wrong with a page. Every page of ours must have named controls,
/// one `main`, one `h1`, no skipped heading level, unique ids, no positive `tabindex`, a language, a
/// title, contrast of at least 4.5 and no horizontal scrolling.
pub const FAULTS: &str = r"(() => {
  const faults = [];
  const name = (e) => (e.getAttribute('aria-label') || [...(e.labels || [])].map((l) => l.textContent).join('') || e.textContent || e.value || '').trim();
  for (const e of document.querySelectorAll('a[href],button,input:not([type=hidden]),select,textarea,summary')) {
    const isField = e.matches('input,select,textarea');
    const label = isField ? ([...(e.labels || [])].map((l) => l.textContent).join('').trim() || e.getAttribute('aria-label')) : name(e);
    if (!label) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  }
  if (document.querySelectorAll('main').length !== 1) faults.push('not one main');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  let last = 0;
  for (const h of document.querySelectorAll('h1,h2,h3,h4')) {
    const level = Number(h.tagName[1]);
    if (level > last + 1) faults.push('skipped heading: ' + h.textContent.slice(0, 40));
    last = level;
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  if (twice.length) faults.push('ids twice: ' + twice.slice(0, 3));
  if (document.querySelector('[tabindex]:not([tabindex=\'0\']):not([tabindex=\'-1\'])')) faults.push('own tab order');
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  for (const img of document.querySelectorAll('img:not([alt]),svg:not(svg svg):not([role]):not([aria-hidden])')) faults.push('no alternative: ' + img.outerHTML.slice(0, 60));
  for (const t of document.querySelectorAll('table')) if (!t.querySelector('th')) faults.push('table without heads');
  for (const dl of document.querySelectorAll('dl')) if (!dl.querySelector('dt')) faults.push('dl without dt');
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
  const lum = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a > 0.5) return c.rgb; } return matchMedia('(prefers-color-scheme:dark)').matches ? [0, 0, 0] : [255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || seen.has(e) || e.closest('svg,script,style,.visually-hidden,.skip')) continue;
    seen.add(e);
    if (!e.checkVisibility()) continue;
    const [a, b] = [lum(parse(getComputedStyle(e).color).rgb), lum(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 60));
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) faults.push('wider than the screen: ' + document.documentElement.scrollWidth);
  return faults.slice(0, 10);
})()";
