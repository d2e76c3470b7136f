// Keeps an open page true: when something has changed, asks for the page again and puts in the parts that differ.
// What somebody has opened, and where they type, is left alone.

const main = document.querySelector("main[data-live]");
const sign = document.querySelector("#live");
let source = null, wanted = false, asking = false, last = 0;

const parts = (root) => root.querySelectorAll("[data-part]");
const served = new Map();  // the parts as the server sent them: what a person has unfolded since is no difference
for (const part of parts(document)) served.set(part.dataset.part, part.innerHTML);

const isBusy = (part) =>
  part.querySelector("details.ask[open]") !== null ||
  (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select"));

function say(text) {
  if (sign && sign.textContent !== text) sign.textContent = text;
}

function replacePart(old, fresh) {
  const open = new Set([...old.querySelectorAll("details[open][id]")].map((item) => item.id));
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolled = [...old.querySelectorAll("[data-scroll][id]")].map((item) => [item.id, item.scrollLeft, item.scrollTop]);
  old.replaceChildren(...fresh.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function refresh() {
  if (asking || document.hidden) { wanted = true; return; }
  asking = true; wanted = false; last = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { "X-Windlass-Live": "1" }, redirect: "manual" });
    if (answer.status === 401) { say("Signed out: load the page again"); source?.close(); return; }
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = new Map([...parts(page)].map((part) => [part.dataset.part, part]));
    for (const part of parts(document)) {
      const name = part.dataset.part, next = fresh.get(name);
      if (!next || served.get(name) === next.innerHTML) continue;
      if (isBusy(part)) { wanted = true; continue; }
      served.set(name, next.innerHTML);
      replacePart(part, next);
    }
  } catch { say("Offline"); } finally { asking = false; }
}

function listen() {
  source = new EventSource(main.dataset.live);
  source.onopen = () => say("Live");
  source.onerror = () => say("Reconnecting…");
  source.addEventListener("changed", refresh);
  source.addEventListener("ended", () => { source.close(); say("Signed out: load the page again"); });
}

if (main) {
  listen();
  const every = Number(main.dataset.every) || 15000;
  setInterval(() => { if (wanted || Date.now() - last >= every) refresh(); }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  addEventListener("pagehide", () => source?.close());
  // Coming back by the browser's own button: the page is shown as it was left, and nobody tells it anything.
  addEventListener("pageshow", (event) => { if (event.persisted) { listen(); refresh(); } });
}

// A click beside an open question closes it, and so does Escape.
document.addEventListener("click", (event) => {
  for (const ask of document.querySelectorAll("details.ask[open]")) if (!ask.contains(event.target)) ask.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const ask of document.querySelectorAll("details.ask[open]")) { ask.open = false; ask.querySelector("summary").focus(); }
});
// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
