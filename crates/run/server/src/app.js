// Keeps what is marked as live up to date, without loading the page anew.
"use strict";

const live = document.querySelector("[data-live]");
let busy = false;
let again = false;

// Fetches this page, or another version of it, and takes over its live part.
async function renew(address = location.href) {
  if (busy) {
    again = address;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelector("[data-live]");
    if (answer.ok && part) {
      const open = [...live.querySelectorAll("details")].map((d) => d.open);
      live.replaceChildren(...part.childNodes);
      live.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
    }
  } catch {
    // The server is away; events come again when it is back.
  }
  busy = false;
  if (again) {
    const next = again;
    again = false;
    renew(next);
  }
}

// Nobody wants the table to move under their pointer or cursor.
function isInUse() {
  return live.contains(document.activeElement) || !getSelection().isCollapsed || document.hidden;
}

const slider = document.querySelector("form[data-follow]");
if (slider) {
  const range = slider.querySelector("input");
  range.addEventListener("input", () => {
    slider.querySelector("output").textContent = range.value + "×";
    const address = `${location.pathname}?times=${encodeURIComponent(range.value)}`;
    history.replaceState(null, "", address);
    renew(address);
  });
} else if (live) {
  let last = 0;
  const events = new EventSource("/api/events");
  events.addEventListener("figures", () => {
    if (Date.now() - last > 1900 && !isInUse()) {
      last = Date.now();
      renew();
    }
  });
  addEventListener("pagehide", () => events.close());
}
