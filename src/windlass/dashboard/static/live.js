// Keeps an open page true: when something has changed, asks for the page again and changes only what differs.
// What somebody has opened, closed, focused or typed is left alone.

const main = document.querySelector("main[data-live]");
const sign = document.querySelector("#live");
const AFRESH = 5000; // until somebody who was turned away knocks again

let source = null;
let isWanted = false; // something has changed since the page was asked for
let isAsking = false;
let restUntil = 0; // a page that takes long is asked for less often
let last = Date.now();

const parts = (root) => root.querySelectorAll("[data-part]");
const served = new Map(); // the parts as the server sent them: what a person has unfolded since is no difference
for (const part of parts(document)) served.set(part.dataset.part, part.innerHTML);

function say(text, isGood = false) {
  if (!sign) return;
  if (sign.textContent !== text) sign.textContent = text;
  sign.classList.toggle("good", isGood);
}

// Somebody answers a question here, or types.
const isBusy = (part) =>
  part.querySelector("details.ask[open]") !== null ||
  (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select"));

// Make `old` what `fresh` is, node by node, so that focus, scrolling and folds stay where they are.
function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) return;
  const isKept = (name) => name === "open" && old.nodeName === "DETAILS";
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && !isKept(name)) old.setAttribute(name, value);
  morphChildren(old, fresh);
}

// What has an id is the same thing as before, wherever it stands now.
function morphChildren(old, fresh) {
  const known = new Map([...old.children].filter((item) => item.id).map((item) => [item.id, item]));
  const wanted = new Set([...fresh.children].filter((item) => item.id).map((item) => item.id));
  let at = old.firstChild;
  const skipGone = () => {
    while (at && at.id && !wanted.has(at.id)) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };
  for (const next of [...fresh.childNodes]) {
    skipGone();
    const same = next.id ? known.get(next.id) : null;
    if (same && same.nodeName === next.nodeName) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      morph(same, next);
    } else if (at && !next.id && !at.id && at.nodeName === next.nodeName) {
      const here = at;
      at = at.nextSibling;
      morph(here, next);
    } else {
      old.insertBefore(document.adoptNode(next), at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function takeOver(page) {
  const fresh = new Map([...parts(page)].map((part) => [part.dataset.part, part]));
  for (const part of parts(document)) {
    const name = part.dataset.part;
    const next = fresh.get(name);
    if (!next || served.get(name) === next.innerHTML) continue;
    if (isBusy(part)) continue; // its turn comes when the question is answered or closed
    served.set(name, next.innerHTML);
    morphChildren(part, next);
  }
}

async function refresh() {
  if (isAsking || document.hidden) {
    isWanted = true;
    return;
  }
  isAsking = true;
  isWanted = false;
  last = Date.now();
  try {
    const answer = await fetch(location.href, { redirect: "manual" });
    if (answer.status === 401) return end();
    if (!answer.ok) return say("Not up to date");
    takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
    if (source && source.readyState === EventSource.OPEN) say("Live", true);
  } catch {
    say("Offline");
  } finally {
    isAsking = false;
    restUntil = Date.now() + 4 * (Date.now() - last);
  }
}

function listen() {
  source?.close();
  source = new EventSource(main.dataset.live);
  source.onopen = () => {
    say("Live", true);
    isWanted = true; // what happened on the way, or while it was not there
  };
  source.onerror = () => {
    say("Reconnecting…");
    if (source && source.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || listen(), AFRESH);
  };
  source.addEventListener("changed", () => (isWanted = true));
  source.addEventListener("ended", end);
}

function rest() {
  source?.close();
  source = null;
}

function end() {
  rest();
  clearInterval(ticking);
  say("Signed out: load the page again");
}

function tick() {
  const every = Number(main.dataset.every);
  const isDue = isWanted || (every > 0 && Date.now() - last >= every);
  if (isDue && Date.now() >= restUntil && source) refresh();
}

let ticking = 0;
if (main) {
  // What was done is said once, and not again to whoever gets this address or loads it anew.
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(null, "", here);
  }
  if (!document.hidden) listen();
  ticking = setInterval(tick, 500);
  // Nobody looks: a browser has few connections to one server, and another page may want this one.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return rest();
    listen();
    refresh();
  });
  addEventListener("pagehide", rest);
  // Coming back by the browser's own button: the page is shown as it was left.
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.forms) delete form.dataset.sent;
    listen();
    refresh();
  });
}

// On a phone the pages stand in a row that is wider than the window.
document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// One question at a time: a click beside it closes it, and so does Escape. Then the page catches up.
const open = () => document.querySelectorAll("details.ask[open]");
document.addEventListener("click", (event) => {
  for (const ask of open()) if (!ask.contains(event.target)) ask.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const ask of open()) {
    ask.open = false;
    ask.querySelector("summary").focus();
  }
});
document.addEventListener(
  "toggle",
  (event) => {
    if (!event.target.matches("details.ask")) return;
    if (event.target.open) event.target.querySelector("input:not([type=hidden]), button")?.focus();
    else isWanted = true;
  },
  true,
);
document.addEventListener("focusout", () => (isWanted = true));

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
