"use strict";

// What script adds to the rating page: quoting by selection, keys, drafts that save themselves,
// and focus that stays where it was. Every action is a post of the form; without this file the
// same buttons do the same.
(() => {
  const by = (id) => document.getElementById(id);
  if (!by("room") || !window.htmx) return;

  const SAVE_AFTER = 1500; // ms from the last change to the draft
  const KEEP_EVERY = 60000; // ms between two signs of life
  const USED_WITHIN = 60000; // ms for which a page counts as used
  const QUIET_FOR = 300; // ms after a swap in which single keys are dead

  const CHECK_AFTER = 600; // ms from the last change to words until they are looked for
  const KEPT_FOR = 7 * 86400; // seconds for which a copy of another card is kept here

  const SIGNED_OUT = "You have been signed out. Your work is still on this page.";
  const SIGNED_IN = "Signed in. Your work is here.";
  const NOT_FITTING = "Error: this address and password do not fit each other.";
  const TOO_OFTEN = "Error: there were many tries. Wait a few minutes, then try again.";
  const NOT_READ = "You have not reached the end of this response.";
  const TOO_OLD = "This form had grown too old to send. Your words are still here. Send it again.";
  const OFFLINE = "You are offline. Your work is kept on this device. We will send it when you are back.";
  const GONE = "This response is no longer yours. Copy what you want to keep, then open the rating room again.";
  const notYet = (seconds) =>
    `We could not save this yet. Nothing is lost. We will try again in ${seconds} seconds.`;
  const tellUs = (name) => `If you write to us, give this number: ${name}`;

  const form = () => by("panel");
  const inCard = () => by("room").dataset.state === "card";

  // --- Saying

  function say(text, where = "said") {
    const region = by(where);
    region.textContent = "";
    // A region that is filled anew speaks even when the words are the same.
    if (text) setTimeout(() => (region.textContent = text), 60);
  }

  function notice(text, label, act) {
    const slot = by("notice");
    if (!slot) return;
    const line = document.createElement("p");
    line.textContent = text;
    slot.replaceChildren(line);
    if (!label) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button-link";
    button.textContent = label;
    button.addEventListener("click", act);
    line.append(" ", button);
  }

  // --- The text, by code points. The page counts UTF-16 units, the server code points.

  const WIDE = /[\ud800-\udbff][\udc00-\udfff]/g;
  const codePoints = (text) => text.length - (text.match(WIDE) || []).length;

  function units(text, points) {
    let at = 0;
    for (let left = points; left > 0 && at < text.length; left -= 1) {
      at += text.codePointAt(at) > 0xffff ? 2 : 1;
    }
    return at;
  }

  let laid = null; // the pieces of the view now shown, in the order of the text

  function pieces() {
    const home = by("came-back");
    if (!home) return [];
    if (laid && laid.home === home) return laid.list;
    const list = [];
    for (const element of home.querySelectorAll("[data-at]")) {
      const node = element.firstChild;
      if (!node) continue;
      const text = node.data;
      list.push({ element, node, text, at: Number(element.dataset.at), size: codePoints(text) });
    }
    laid = { home, list };
    return list;
  }

  // The last piece that starts at or before a code point.
  function pieceAt(point) {
    const list = pieces();
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle].at <= point) low = middle;
      else high = middle - 1;
    }
    return list[low];
  }

  function rangeOf(start, end) {
    const first = pieceAt(start);
    const last = pieceAt(end - 1);
    if (!first || !last) return null;
    const range = document.createRange();
    range.setStart(first.node, units(first.text, Math.max(0, start - first.at)));
    range.setEnd(last.node, units(last.text, Math.max(0, end - last.at)));
    return range;
  }

  function quoted() {
    return [...document.querySelectorAll("#quotes > li")].map((row) => ({
      start: Number(row.dataset.start),
      end: Number(row.dataset.end),
    }));
  }

  // Reading comes with its marks; the sentences are painted here.
  function paint() {
    if (!window.CSS || !CSS.highlights) return;
    const ranges = (view() === "sentences" ? quoted() : []).map(({ start, end }) => rangeOf(start, end)).filter(Boolean);
    CSS.highlights.set("quote", new Highlight(...ranges));
  }

  // --- Picking words

  let pick = null; // { words, hint } of the selection now shown in the bar

  const LETTER = /[\p{L}\p{M}\p{N}]/u;
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  const splitter = window.Intl && Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

  function within(text, at) {
    const before = text.slice(0, at).match(/[\s\S]$/u);
    const after = text.slice(at, at + 2).match(/^[\s\S]/u);
    if (!before || !after) return false;
    if (/['’]/.test(before[0])) {
      return LETTER.test(after[0]) && LETTER.test(text.slice(Math.max(0, at - 3), at - 1).slice(-1));
    }
    if (/['’]/.test(after[0])) return LETTER.test(before[0]) && LETTER.test(text.charAt(at + 1));
    return LETTER.test(before[0]) && LETTER.test(after[0]);
  }

  // Where a word begins or ends at or beyond a place, looking a little way only.
  function edge(text, at, step) {
    const near = text.slice(Math.max(0, at - 1), at + 1);
    if (UNSPACED.test(near)) return wordEdge(text, at, step);
    let place = at;
    for (let left = 200; left > 0 && within(text, place); left -= 1) place += step;
    return place;
  }

  function wordEdge(text, at, step) {
    if (!splitter) return at;
    const from = Math.max(0, at - 40);
    for (const part of splitter.segment(text.slice(from, at + 40))) {
      const start = from + part.index;
      const end = start + part.segment.length;
      if (start < at && at < end) return step < 0 ? start : end;
    }
    return at;
  }

  function widened(text, start, end) {
    while (start < end && /\s/.test(text[start])) start += 1;
    while (end > start && /\s/.test(text[end - 1])) end -= 1;
    return start < end ? [edge(text, start, -1), edge(text, end, 1)] : null;
  }

  function countWords(text) {
    if (!splitter) return text.split(/\s+/).filter(Boolean).length;
    let count = 0;
    for (const part of splitter.segment(text)) if (part.isWordLike) count += 1;
    return count;
  }

  function pickInReading() {
    const selection = document.getSelection();
    const home = by("came-back");
    if (!selection || selection.isCollapsed || !selection.rangeCount || !home) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(home)) return null;
    const list = pieces().filter(({ node }) => range.intersectsNode(node));
    if (!list.length) return null;
    const first = list[0];
    const last = list[list.length - 1];
    // Whole pieces around the selection hold its words whole; a mark may cut one, so take more.
    const all = pieces();
    const low = Math.max(0, all.indexOf(first) - 2);
    const high = Math.min(all.length, all.indexOf(last) + 3);
    let text = "";
    let start = -1;
    let end = -1;
    for (const piece of all.slice(low, high)) {
      if (piece === first) {
        start = text.length + (range.startContainer === piece.node ? range.startOffset : 0);
      }
      if (piece === last) {
        end = text.length + (range.endContainer === piece.node ? range.endOffset : piece.text.length);
      }
      text += piece.text;
    }
    const found = widened(text, start, end);
    if (!found) return null;
    return {
      words: text.slice(...found),
      hint: all[low].at + codePoints(text.slice(0, found[0])),
    };
  }

  function pickInCopy() {
    const copy = by("copy");
    if (!copy || copy.selectionStart === copy.selectionEnd) return null;
    const found = widened(copy.value, copy.selectionStart, copy.selectionEnd);
    if (!found) return null;
    return {
      words: copy.value.slice(...found),
      hint: codePoints(copy.value.slice(0, found[0])),
    };
  }

  function view() {
    const region = by("response");
    return region ? region.dataset.view : "";
  }

  function readPick() {
    if (!inCard() || view() === "sentences") return;
    if (by("pick").contains(document.activeElement) && document.getSelection().isCollapsed) return;
    pick = view() === "plain" ? pickInCopy() : pickInReading();
    showPick();
  }

  function showPick() {
    const bar = by("pick");
    if (!bar) return;
    const back = by("back-to-quotes");
    by("pick-error").hidden = true;
    if (!pick) {
      bar.hidden = back.hidden;
      for (const id of ["pick-words", "pick-count", "pick-add"]) by(id).hidden = true;
      return;
    }
    const words = countWords(pick.words);
    for (const id of ["pick-words", "pick-count", "pick-add"]) by(id).hidden = false;
    back.hidden = true;
    by("pick-words").textContent = `“${shortened(pick.words.replace(/\s+/g, " "))}”`;
    by("pick-count").textContent = words === 1 ? "1 word" : `${words} words`;
    bar.hidden = false;
  }

  function shortened(text) {
    if (text.length <= 120) return text;
    const cut = text.slice(0, 60).replace(/\s+\S*$/u, "");
    return `${cut} … ${text.slice(-60).replace(/^\S*\s+/u, "")}`;
  }

  function addPick() {
    if (!pick) return;
    act("quote", { words: pick.words, hint: String(pick.hint) });
  }

  function dropPick() {
    pick = null;
    const copy = by("copy");
    if (copy) copy.setSelectionRange(copy.selectionEnd, copy.selectionEnd);
    else document.getSelection().removeAllRanges();
    const lost = by("pick") && by("pick").contains(document.activeElement);
    showPick();
    if (lost) (copy || by("came-back")).focus({ preventScroll: true });
  }

  // --- Sentences: one Tab stop, arrows move, Shift extends

  function boxes() {
    return [...document.querySelectorAll("input[name='sentence']")];
  }

  function rove(to) {
    for (const box of boxes()) box.tabIndex = box === to ? 0 : -1;
  }

  function countMarked() {
    const count = boxes().filter((box) => box.checked).length;
    by("marked-count").textContent =
      count === 1 ? "1 sentence marked" : `${count} sentences marked`;
  }

  function moveSentence(event) {
    const all = boxes();
    const here = all.indexOf(event.target);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    let to = null;
    if (step) to = all[here + step];
    else if (event.key === "Home") to = all[0];
    else if (event.key === "End") to = all[all.length - 1];
    else return false;
    event.preventDefault();
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return true;
    if (event.shiftKey && step) {
      event.target.checked = true;
      to.checked = true;
      changed();
      countMarked();
    }
    rove(to);
    to.focus();
    return true;
  }

  // --- Sending

  let busy = null; // { what, button, words } of an action on its way
  let waiting = null; // { what, extra } of an action the server has not taken yet
  let fault = ""; // what was last said to be wrong
  let retry = 0;
  let wait = 10;
  let dirty = false;
  let saveTimer = 0;
  let saving = false;
  let stash = ""; // words typed before a selection was quoted
  let before = null; // what the page was like before the last swap

  const FIELDS = "input[id], textarea[id]";
  const stands = (field) => (/radio|checkbox/.test(field.type) ? field.checked : field.value);

  function snapshot() {
    const kept = new Map();
    for (const field of form().querySelectorAll(FIELDS)) {
      if (field.type !== "hidden") kept.set(field.id, stands(field));
    }
    return kept;
  }

  function act(what, extra = {}) {
    if (!inCard() || busy) return Promise.resolve();
    if (what !== "save" && what !== "view") begin(what.replace("mine:", ""), null);
    return window.htmx
      .ajax("POST", by("room").dataset.rate, {
        source: form(),
        values: { ...extra, do: what },
      })
      .catch(() => {});
  }

  function begin(what, button) {
    busy = { what, button };
    clearTimeout(saveTimer);
    if (!button) return;
    button.setAttribute("aria-busy", "true");
    const words = button.querySelector(".button-words");
    if (words) {
      busy.words = words.textContent;
      words.textContent = "Sending…";
    }
  }

  function end() {
    if (!busy) return;
    const { button, words } = busy;
    busy = null;
    if (!button) return;
    button.removeAttribute("aria-busy");
    if (words) button.querySelector(".button-words").textContent = words;
  }

  let submitNext = false; // pressed while something else was on its way

  // Before htmx sees it: a second press of a busy form is ignored, but Submit waits its turn.
  document.addEventListener(
    "submit",
    (event) => {
      if (event.target.id === "undo-form" && inCard()) leave();
      if (event.target !== form()) return;
      const button = event.submitter;
      const what = button ? button.value.replace("mine:", "") : "save";
      if (torn && button && button.id === "use-this") {
        event.preventDefault();
        event.stopImmediatePropagation();
        const { extra } = torn;
        torn = null;
        by("notice").replaceChildren();
        by("save").focus();
        act(button.value, extra);
        return;
      }
      if (what === "theirs") {
        torn = null;
        dirty = false;
        forget();
      }
      if (busy) {
        event.preventDefault();
        event.stopImmediatePropagation();
        if (what === "submit" && busy.what !== "submit") submitNext = true;
        return;
      }
      if (what === "save") said = true;
      begin(what, button);
    },
    true,
  );

  let said = false; // whether the next save is to be announced

  document.addEventListener("htmx:configRequest", ({ detail }) => {
    detail.renewed = renewed;
    renewed = false;
    if (!inCard() || detail.elt !== form()) return;
    const button = detail.triggeringEvent && detail.triggeringEvent.submitter;
    if (button) detail.parameters.do = button.value;
    detail.parameters.active_seconds = String(seconds());
    detail.parameters.tab = tab;
    detail.parameters.shown = quoted().map(({ start, end }) => `${start}-${end}`);
    detail.what = String(detail.parameters.do || "save").replace("mine:", "");
    detail.extra = { words: detail.parameters.words, hint: detail.parameters.hint };
    detail.picked = Boolean(detail.parameters.hint);
    detail.sent = snapshot();
    detail.from = document.activeElement;
    if (detail.what === "save") saving = true;
    dirty = false;
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    const { xhr, requestConfig, target } = detail;
    const gone = new URL(xhr.responseURL || location.href, location.href).pathname;
    const asked = new URL(requestConfig.path, location.href).pathname;
    if (xhr.responseURL && gone !== asked) {
      detail.shouldSwap = false;
      signedOut(requestConfig);
      return;
    }
    if (!detail.shouldSwap) return;
    if (requestConfig.elt.id === "skip-form" && xhr.status === 422) {
      detail.target = by("skip-body");
      detail.selectOverride = "#skip-form";
      detail.swapOverride = "innerHTML";
      return;
    }
    before = { what: requestConfig.what || "", target: target.id, status: xhr.status };
    before.extra = requestConfig.picked ? requestConfig.extra : {};
    if (!inCard()) return;
    if (target.id === "panel") {
      const rows = [...document.querySelectorAll(".remove-quote")];
      const now = document.activeElement;
      before.moved = now !== document.body && now !== requestConfig.from;
      before.live = snapshot();
      before.sent = requestConfig.sent || before.live;
      before.picked = requestConfig.picked;
      before.scrolled = by("panel-body").scrollTop;
      before.notice = by("notice").querySelector("[form='undo-form'], .not-read") ? [...by("notice").childNodes] : null;
      before.more = by("more").open;
      before.quotes = quoted().map(({ start, end }) => `${start}-${end}`);
      before.absent = [...form().querySelectorAll("input[name='absent']:checked")].map((box) => box.value);
      before.removed = rows.findIndex((button) => before.what === button.value);
      if (before.picked && before.what === "quote") stash = before.live.get("words") || stash;
    }
    if (target.id === "response") before.place = placeNow();
  });

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "skip-body") return;
    if (!before || detail.xhr.status === 204) return;
    const was = before;
    before = null;
    if (was.target === "panel") panelSwapped(was);
    else if (was.target === "response") responseSwapped(was);
    else if (was.target === "room") roomSwapped();
    else if (was.target === "notice") stale(was);
    if (was.target === "saved") by("version").value = by("saved").dataset.version;
    if (was.target === "saved" && said) {
      said = false;
      say(by("saved").textContent);
      notice(by("saved").textContent);
    }
  });

  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const { requestConfig, xhr } = detail;
    const what = requestConfig.what;
    if (!what) return;
    if (what === "save") saving = false;
    if (!busy || busy.what === what) end();
    const answered = xhr.status && (xhr.status < 400 || xhr.status === 409 || xhr.status === 422);
    if (answered && !requestConfig.lost) {
      recovered();
      // The server has it now, unless it asks which of two drafts is meant.
      if (!torn && !dirty) forget(requestConfig.path);
    }
    if (!submitNext || busy) return;
    submitNext = false;
    if (xhr.status === 200 && inCard()) press(by("submit"));
  });

  // --- What went wrong

  document.addEventListener("htmx:sendError", ({ detail }) => failed(detail.requestConfig, "offline"));
  document.addEventListener("htmx:timeout", ({ detail }) => failed(detail.requestConfig, "server"));
  document.addEventListener("htmx:responseError", ({ detail }) => {
    const { xhr, requestConfig } = detail;
    if (xhr.status === 401) signedOut(requestConfig);
    else if (xhr.status === 403) tooOld(requestConfig);
    else if (xhr.status === 404) trouble("gone", GONE, "Open it", () => location.assign(location.pathname));
    else {
      // What is away comes back. Of what broke, somebody may want to tell us.
      const broke = xhr.status === 503 ? "" : xhr.getResponseHeader("X-Request-ID");
      failed(requestConfig, "server", Number(xhr.getResponseHeader("Retry-After")), broke);
    }
  });

  function failed(config, kind, after, broke) {
    const what = config.what;
    if (what) {
      dirty = true;
      remember();
    }
    hold(config);
    wait = after > 0 ? after : fault ? Math.min(wait * 2, 60) : 10;
    clearTimeout(retry);
    retry = setTimeout(again, wait * 1000);
    if (kind === "offline") trouble(kind, OFFLINE, "Try again", again);
    else trouble(kind, notYet(wait) + (broke ? ` ${tellUs(broke)}` : ""), "Try now", again);
  }

  // What is to be sent once the way is free. A draft rides along with whatever is waiting already.
  function hold(config) {
    if (config.what) {
      if (config.what !== "save" || !waiting) {
        waiting = { what: config.what, extra: config.picked ? config.extra : {} };
      }
    } else if (config.elt && config.elt.matches("form")) {
      waiting = { form: config.elt, button: config.triggeringEvent && config.triggeringEvent.submitter };
    }
  }

  function again() {
    clearTimeout(retry);
    if (!waiting || busy) return;
    const { what, extra, form: other, button } = waiting;
    if (!other) act(what, extra);
    else {
      waiting = null;
      if (other.isConnected) other.requestSubmit(button && button.isConnected ? button : undefined);
    }
  }

  window.addEventListener("online", again);

  function trouble(kind, text, label, go) {
    notice(text, label, go);
    if (fault !== kind) say(text, "alarm");
    fault = kind;
  }

  function recovered() {
    clearTimeout(retry);
    waiting = null;
    if (!fault) return;
    fault = "";
    by("alarm").textContent = "";
    if (!inCard()) return;
    const saved = by("saved").textContent;
    if (saved) say(saved);
    notice(saved);
  }

  // A second tab has saved meanwhile: nothing is written over until one of the two is chosen.
  function stale(was) {
    torn = { extra: was.extra };
    dirty = true;
    remember();
    say(by("notice").querySelector("p").textContent, "alarm");
  }

  // --- Signed out, and tokens that grew too old

  let renewed = false; // whether the request now made is a repeat with a fresh token

  async function freshToken() {
    const answer = await fetch(by("sign-in-form").dataset.token, { cache: "no-store", credentials: "same-origin" });
    const { token } = await answer.json();
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token }));
    for (const field of document.querySelectorAll("input[name='csrfmiddlewaretoken']")) field.value = token;
    return token;
  }

  const heldToken = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];

  function tooOld(config) {
    if (config.renewed) {
      sendPlainly(config);
      return;
    }
    config.lost = true;
    dirty = dirty || Boolean(config.what);
    hold(config);
    end();
    freshToken()
      .then(() => {
        renewed = true;
        again();
      })
      .catch(() => failed(config, navigator.onLine ? "server" : "offline"));
  }

  // The plain way shows a page with what was typed and a fresh form.
  function sendPlainly(config) {
    const what = config.what || "save";
    trouble("too-old", TOO_OLD, "Send it again", () => {
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = "do";
      field.value = what;
      form().append(field);
      HTMLFormElement.prototype.submit.call(form());
    });
  }

  function signedOut(config) {
    config.lost = true;
    if (config.what) {
      dirty = true;
      remember();
    }
    hold(config);
    trouble("signed-out", SIGNED_OUT, "Sign in", openSignIn);
    openSignIn();
  }

  function openSignIn() {
    const dialog = by("sign-in-dialog");
    if (dialog.open) return;
    by("sign-in-error").textContent = "";
    dialog.showModal();
    by("sign-in-login").focus();
  }

  by("sign-in-later").addEventListener("click", () => by("sign-in-dialog").close());
  by("sign-in-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.target.querySelector("button[type='submit']");
    if (button.getAttribute("aria-busy")) return;
    button.setAttribute("aria-busy", "true");
    by("sign-in-error").textContent = "";
    try {
      const token = await freshToken();
      const answer = await fetch(event.target.action, {
        method: "POST",
        body: new FormData(event.target),
        credentials: "same-origin",
        headers: { "X-CSRFToken": token, "X-Requested-With": "XMLHttpRequest", Accept: "application/json" },
      });
      if (answer.status === 200) {
        await freshToken();
        by("sign-in-password").value = "";
        by("sign-in-dialog").close();
        fault = "";
        by("alarm").textContent = "";
        notice(SIGNED_IN);
        say(SIGNED_IN);
        again();
      } else {
        by("sign-in-error").textContent = answer.status === 429 ? TOO_OFTEN : NOT_FITTING;
        by("sign-in-password").focus();
      }
    } catch {
      by("sign-in-error").textContent = `Error: ${OFFLINE}`;
    }
    button.removeAttribute("aria-busy");
  });

  // --- A copy on this device of what was put down and the server has not taken yet: never the text

  const tab = tabName();
  const copyOf = (code) => `room:${code}`;

  // One name for a tab as long as it lives, so that it never takes its own draft for another's.
  function tabName() {
    const came = performance.getEntriesByType("navigation")[0];
    const fresh = () => Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("");
    try {
      const kept = sessionStorage.getItem("room");
      const name = kept && came && came.type !== "navigate" ? kept : fresh();
      sessionStorage.setItem("room", name);
      return name;
    } catch {
      return fresh();
    }
  }

  let ahead = 0; // seconds by which the server's clock is ahead of this one's

  function remember() {
    if (!inCard()) return;
    const fields = {};
    for (const field of form().querySelectorAll(FIELDS)) {
      if (/radio|checkbox/.test(field.type)) {
        if (field.checked) fields[field.name] = [...(fields[field.name] || []), field.value];
      } else if (field.type !== "hidden" && field.value) fields[field.name] = [field.value];
    }
    delete fields.sentence;
    const quotes = quoted().map(({ start, end }) => `${start}-${end}`);
    const kept = { at: Date.now() / 1000 + ahead, tab, version: by("version").value, fields, quotes };
    try {
      localStorage.setItem(copyOf(by("room").dataset.code), JSON.stringify(kept));
    } catch {
      // A full or closed store: the server's draft remains.
    }
  }

  function forget(path) {
    const code = path ? (/[0-9a-f-]{36}/.exec(path) || [""])[0] : by("room").dataset.code;
    try {
      localStorage.removeItem(copyOf(code));
    } catch {
      // Nothing can be kept, so there is nothing to forget.
    }
  }

  // What the server has not seen is put back, and sent.
  function restore() {
    const { code, now, saved } = by("room").dataset;
    ahead = Number(now) - Date.now() / 1000;
    let kept = null;
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith("room:")) continue;
        const copy = JSON.parse(localStorage.getItem(key));
        if (key === copyOf(code)) kept = copy;
        else if (Date.now() / 1000 - copy.at > KEPT_FOR) localStorage.removeItem(key);
      }
    } catch {
      return;
    }
    if (!kept) return;
    if (kept.at <= Number(saved || 0)) {
      forget();
      return;
    }
    const values = { quote: kept.quotes.length ? kept.quotes : "" };
    const names = ["level", "absent", "words", "note", "confidence", "critical_harm", "harm_line", "tag", "flag", "maker", "maker_sure"];
    for (const name of names) values[name] = kept.fields[name] || "";
    const when = new Date((kept.at - ahead) * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    const put = () => {
      back = `Your draft from ${when} is back.`;
      act("restore", values);
    };
    // What another tab wrote beside the draft that stands is put in its place only when asked for.
    if (kept.tab === tab || kept.version === by("version").value) put();
    else notice(`A draft from ${when} was not sent. It is kept on this device.`, "Use that one", put);
  }

  let back = ""; // what to say of a copy that was put back
  let torn = null; // the act that met a newer draft from another tab

  // --- After a swap: keep what was typed meanwhile, and put focus where it belongs

  const what0 = (was) => was.what.split(":")[0];

  function panelSwapped(was) {
    end();
    laid = null; // its marks came along
    // What changed while the request was away is not in the answer.
    for (const [id, value] of was.live) {
      const field = by(id);
      if (!field || was.sent.get(id) === value) continue;
      if (/radio|checkbox/.test(field.type)) field.checked = value;
      else field.value = value;
      changed();
    }
    by("panel-body").scrollTop = was.scrolled;
    by("more").open = was.more || by("more").open;
    if (was.notice && !by("notice").childElementCount) by("notice").replaceChildren(...was.notice);
    torn = null;
    if (back && what0(was) === "restore") {
      notice(back);
      say(back);
      back = "";
    }
    checkedWords = by("words").value;
    const what = what0(was);
    const good = was.status === 200;
    const rows = quoted().map(({ start, end: last }) => `${start}-${last}`);
    const added = rows.findIndex((row) => !was.quotes.includes(row));
    if (good && what === "use") by("words").value = "";
    if (good && stash && !by("words").value) {
      by("words").value = stash;
      stash = "";
    }
    if (good && added >= 0) {
      const words = by(`quote-${added + 1}`).textContent.trim().split(/\s+/);
      const more = words.length > 6 ? " …" : "";
      say(`Quote ${added + 1} added: “${words.slice(0, 6).join(" ")}${more}”.`);
    }
    const wrong = by("words-error");
    // Whoever has gone on to another field stays there.
    const settle = was.moved ? () => {} : focus;
    if (good && what === "quote" && was.picked) dropPick();
    if (good && what === "sentences") {
      for (const box of boxes()) box.checked = false;
      countMarked();
    }
    if (what === "quote" || what === "sentences") {
      const text = good || !wrong ? "" : wrong.querySelector("p") ? wrong.querySelector("p").textContent : wrong.textContent;
      if (text) say(text, "alarm");
      if (text && was.picked && pick) {
        by("pick-error").textContent = text;
        by("pick-error").hidden = false;
      }
      if (by("marked-error")) by("marked-error").textContent = text;
      if (text && !was.picked && what === "quote") settle(by("words"));
    } else if (what === "remove") {
      const left = document.querySelectorAll(".remove-quote");
      settle(left[Math.min(was.removed, left.length - 1)] || by("words"));
      say("Quote removed.");
      if (good) {
        notice("Quote removed.", "Undo", () => act("restore", { quote: was.quotes, absent: was.absent }));
      }
    } else if (what === "reword") {
      settle(by("words"));
      if (good) {
        say("The quote is in the field. Change its words, then add it.");
        notice("Quote taken into the field.", "Undo", () => {
          by("words").value = "";
          act("restore", { quote: was.quotes, absent: was.absent });
        });
      }
    } else if (what === "restore" && added >= 0) {
      settle(by(`remove-${added + 1}`));
    } else if (what === "use" || what === "change") {
      if (what === "change") stash = "";
      settle(by("words"));
    } else if (what === "clear") {
      settle(document.querySelector("input[name='level']"));
    } else if (what === "submit") {
      settle(by("summary") || by("words"), true);
    }
    paint();
  }

  function responseSwapped(was) {
    laid = null;
    pick = null;
    dressResponse();
    watchEnd();
    goTo(was.place);
    paint();
    if (document.activeElement === document.body) by(`view-${view()}`).focus({ preventScroll: true });
    if (!toShow) return;
    const row = [...document.querySelectorAll("#quotes > li")].find((one) => one.dataset.start === toShow);
    toShow = "";
    if (row) showQuote(row);
  }

  function roomSwapped() {
    end();
    quiet();
    torn = null;
    waiting = null;
    fault = "";
    by("alarm").textContent = "";
    laid = null;
    pick = null;
    stash = "";
    dirty = false;
    submitNext = false;
    clearTimeout(saveTimer);
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    document.title = document.title.replace(/^.* · /, `${by("title").textContent} · `);
    window.scrollTo(0, 0);
    by("title").focus({ preventScroll: true });
    say(by("room").dataset.said);
    dress();
  }

  function focus(element, scroll = false) {
    if (!element) return;
    element.focus({ preventScroll: !scroll });
    if (!scroll) element.scrollIntoView({ block: "nearest" });
  }

  // Which character stands at the top of the window, so that a view can begin at the same one.
  function placeNow() {
    const top = headEnd();
    for (const { element, at } of places()) {
      const box = element.getBoundingClientRect();
      if (box.height && box.bottom > top) return { at, top: box.top };
    }
    return null;
  }

  function goTo(place) {
    if (!place || place.top >= headEnd()) return;
    const next = places().findIndex(({ at }) => at > place.at);
    const here = places().at(next === -1 ? -1 : Math.max(0, next - 1));
    if (here) window.scrollBy(0, here.element.getBoundingClientRect().top - headEnd() - 16);
  }

  // Rendered knows where its blocks start, and no more.
  function places() {
    if (view() !== "rendered") return pieces();
    const blocks = [...by("came-back").querySelectorAll("[data-from]")];
    return blocks.map((element) => ({ element, at: Number(element.dataset.from) }));
  }

  function headEnd() {
    const head = document.querySelector(".head");
    return Math.max(0, head.getBoundingClientRect().bottom);
  }

  // --- Drafts, signs of life, seconds

  function changed() {
    dirty = true;
    remember();
    clearTimeout(saveTimer);
    saveTimer = setTimeout(autosave, SAVE_AFTER);
  }

  function autosave() {
    if (!dirty || !inCard() || torn) return;
    if (busy || saving || waiting) {
      saveTimer = setTimeout(autosave, SAVE_AFTER);
      return;
    }
    act("save");
  }

  // A page that goes away cannot wait for an answer.
  function leave() {
    if (!dirty || !inCard() || torn) return;
    remember();
    const data = new FormData(form());
    data.set("tab", tab);
    data.set("do", "save");
    data.set("active_seconds", String(seconds()));
    if (navigator.sendBeacon(by("room").dataset.rate, data)) dirty = false;
  }

  window.addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => {
    held.clear();
    if (document.visibilityState === "hidden") leave();
    else beat();
  });
  // A page brought back by Back asks the server for its state.
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());

  let usedAt = Date.now();
  let active = 0;
  const inUse = () => document.visibilityState === "visible" && Date.now() - usedAt < USED_WITHIN;
  const seconds = () => active;
  for (const name of ["pointermove", "pointerdown", "keydown", "scroll", "touchmove", "focusin"]) {
    window.addEventListener(name, () => (usedAt = Date.now()), { capture: true, passive: true });
  }
  setInterval(() => {
    if (inCard() && inUse()) active += 1;
  }, 1000);
  setInterval(beat, KEEP_EVERY);

  let step = ""; // of which nearing end was last told

  // A page in use keeps its card; another one asks, without keeping it, when its time ends.
  async function beat(keep = inUse()) {
    if (!inCard()) return;
    const url = by("room").dataset.keep;
    const body = new URLSearchParams(keep ? {} : { look: "1" });
    const headers = { "X-CSRFToken": heldToken(), "HX-Request": "true" };
    let answer;
    try {
      answer = await fetch(url, { method: "POST", body, headers, credentials: "same-origin" });
    } catch {
      return;
    }
    if (!inCard() || by("room").dataset.keep !== url) return;
    if (answer.status === 401) signedOut({ what: dirty ? "save" : "" });
    else if (answer.status === 403) freshToken().catch(() => {});
    else if (answer.status === 204) {
      step = "";
      if (by("notice").querySelector("[data-step], [value='let-go']")) by("notice").replaceChildren();
    } else if (answer.status === 200) {
      const text = await answer.text();
      if (fault || torn) return;
      by("notice").innerHTML = text;
      const line = by("notice").querySelector("p");
      const now = line.dataset.step || "over";
      if (now !== step) say(line.firstChild.data);
      step = now;
    }
  }

  // --- What the form tells of itself

  function tell() {
    const level = document.querySelector("input[name='level']:checked");
    const quotes = quoted().length;
    by("told").textContent = `${level ? `Level ${level.value}` : "No level yet"} · ${quotes} ${quotes === 1 ? "quote" : "quotes"}`;
  }

  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!inCard()) return;
    if (field.id === "copy") {
      field.value = field.defaultValue;
      return;
    }
    if (field.form !== form() || field.name === "view") return;
    if (field.name === "words") {
      by("hint").value = "";
      clearTimeout(checking);
      checking = setTimeout(checkWords, CHECK_AFTER);
    }
    if (field.name === "sentence") {
      rove(field);
      countMarked();
      if (by("marked-error")) by("marked-error").textContent = "";
      return;
    }
    if (field.name === "level") {
      tell();
      tellUnread();
    }
    changed();
  });

  document.addEventListener("change", (event) => {
    if (!inCard() || event.target.name !== "view" || event.target.form !== form()) return;
    act("view");
  });

  // Words being typed are looked for once they rest; nothing is stored.
  let checking = 0;
  let checkedWords = "";

  async function checkWords() {
    if (!inCard() || busy) return;
    const words = by("words").value;
    if (words === checkedWords) return;
    checkedWords = words;
    const body = new URLSearchParams({ do: "check", words });
    const headers = { "X-CSRFToken": heldToken(), "HX-Request": "true" };
    try {
      const answer = await fetch(by("room").dataset.rate, { method: "POST", body, headers, credentials: "same-origin" });
      const text = answer.status === 200 ? await answer.text() : "";
      if (!inCard() || busy || by("words").value !== words) return;
      by("words-problem").innerHTML = text.trim();
    } catch {
      return;
    }
    const wrong = by("words-error");
    by("words").setAttribute("aria-describedby", wrong ? "words-hint words-error" : "words-hint");
    if (wrong) by("words").setAttribute("aria-invalid", "true");
    else by("words").removeAttribute("aria-invalid");
    if (wrong) say(wrong.querySelector("p").textContent);
  }

  document.addEventListener("beforeinput", (event) => {
    if (event.target.id === "copy") event.preventDefault();
  });

  let selecting = 0;
  function soon() {
    clearTimeout(selecting);
    selecting = setTimeout(readPick, 120);
  }
  document.addEventListener("selectionchange", soon);
  document.addEventListener("select", soon, true);

  document.addEventListener("pointerdown", (event) => {
    // The selection survives the press.
    if (event.target.closest && event.target.closest("#pick")) event.preventDefault();
  });
  document.addEventListener("mousedown", (event) => {
    if (event.target.closest && event.target.closest("#pick")) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const hit = event.target.closest && event.target.closest("a, button");
    if (!hit) return;
    if (hit.id === "pick-add") addPick();
    else if (hit.id === "skip") openSkip(event);
    else if (hit.id === "skip-back" && by("skip-dialog").open) {
      event.preventDefault();
      by("skip-dialog").close();
    } else if (hit.id === "keys-open") by("keys-dialog").showModal();
    else if (hit.id === "to-levels") toLevels(event);
    else if (hit.id === "back-to-place") backToPlace();
    else if (hit.id === "keep-it") beat(true);
    else if (hit.classList.contains("show-all")) showAll(hit);
    else if (hit.id === "back-to-quotes") backToQuotes();
    else if (hit.classList.contains("show-quote")) {
      event.preventDefault();
      showQuote(hit.closest("li"));
    }
  });

  document.addEventListener("focusin", (event) => {
    if (event.target.name === "sentence") rove(event.target);
  });

  // --- Ways about the page

  function openSkip(event) {
    if (event) event.preventDefault();
    const link = by("skip");
    if (!link || by("skip-dialog").open) return;
    const heading = document.createElement("h2");
    heading.id = "skip-title";
    heading.textContent = "Why would you like to skip this response?";
    window.htmx
      .ajax("GET", link.href, { source: "#skip-body", target: "#skip-body", select: "#skip-form", swap: "innerHTML" })
      .then(() => {
        if (!by("skip-form")) throw new Error("no form");
        by("skip-body").prepend(heading);
        by("skip-dialog").showModal();
      })
      // Without a way to the server the page stays, and says so; else the plain page asks the same.
      .catch(() => fault || location.assign(link.href));
  }

  function showAll(button) {
    const all = button.closest(".turn").classList.toggle("turn-all");
    button.textContent = all ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(all));
  }

  // Whether the end of the response was ever in view, and how far down its reader has been.
  let reached = false;
  let farthest = 0;
  const watcher = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    reached = true;
    if (by("notice") && by("notice").querySelector(".not-read")) by("notice").replaceChildren();
  });

  function watchEnd() {
    watcher.disconnect();
    if (by("response-end")) watcher.observe(by("response-end"));
  }

  window.addEventListener("scroll", () => (farthest = Math.max(farthest, window.scrollY)), { passive: true });

  function tellUnread() {
    if (reached || fault || torn || by("notice").childElementCount) return;
    const to = farthest;
    notice(NOT_READ, "Go to where I was", () => {
      window.scrollTo(0, to);
      by("came-back").focus({ preventScroll: true });
    });
    by("notice").firstChild.className = "not-read";
    say(NOT_READ);
  }

  let place = 0; // how far down the page was before the levels were gone to

  function toLevels(event) {
    event.preventDefault();
    place = window.scrollY;
    by("levels").scrollIntoView();
    const radio = document.querySelector("input[name='level']:checked") || document.querySelector("input[name='level']");
    radio.focus({ preventScroll: true });
    by("back-to-place").hidden = false;
  }

  function backToPlace() {
    by("back-to-place").hidden = true;
    window.scrollTo(0, place);
    by("came-back").focus({ preventScroll: true });
  }

  let shownFrom = ""; // the quote from whose row the response was gone to
  let toShow = ""; // where the quote starts that is shown once Reading has come

  function showQuote(row) {
    const start = Number(row.dataset.start);
    shownFrom = row.querySelector(".remove-quote").id;
    if (view() === "rendered") {
      toShow = row.dataset.start;
      by("view-reading").checked = true;
      act("view");
      return;
    }
    const copy = by("copy");
    let mark = copy || by(`at-${start}`);
    if (copy) {
      const from = units(copy.value, start);
      copy.setSelectionRange(from, units(copy.value, Number(row.dataset.end)));
    } else if (!mark) mark = pieceAt(start).element.closest(".sentence").querySelector("input");
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "center" });
    if (copy) return;
    by("back-to-quotes").hidden = false;
    pick = null;
    showPick();
  }

  function backToQuotes() {
    by("back-to-quotes").hidden = true;
    showPick();
    const row = by(shownFrom) || by("quotes-title");
    const link = row.closest("li") ? row.closest("li").querySelector(".show-quote") : row;
    focus(link);
  }

  // What the person wrote: as it stands while in sight, else again at the top of the panel.
  function toggleAsked() {
    const asked = by("asked");
    const fold = by("fold");
    const box = asked.getBoundingClientRect();
    const inSight = box.bottom > headEnd() && box.top < window.innerHeight;
    const beside = window.matchMedia("(min-width: 64rem) and (min-height: 30.001rem)").matches;
    if (!fold.hidden) fold.hidden = true;
    else if (inSight) asked.open = !asked.open;
    else if (beside) {
      const copy = by("asked-turns").cloneNode(true);
      copy.removeAttribute("id");
      fold.replaceChildren(copy);
      fold.hidden = false;
      fold.scrollIntoView({ block: "nearest" });
    } else {
      asked.open = true;
      asked.scrollIntoView();
      asked.querySelector("summary").focus({ preventScroll: true });
    }
  }

  function nextView() {
    const radios = [...document.querySelectorAll("input[name='view']")];
    const next = radios[(radios.findIndex((radio) => radio.checked) + 1) % radios.length];
    next.checked = true;
    next.focus({ preventScroll: true });
    act("view");
  }

  function chooseLevel(digit) {
    const radio = document.querySelector(`input[name='level'][value='${digit}']`);
    if (!radio || radio.checked) return;
    radio.checked = true;
    tell();
    changed();
    say(`Level ${by(`${radio.id}-name`).textContent}`);
    tellUnread();
  }

  // --- Keys

  const held = new Set(); // keys now down
  let quietSince = 0; // when a swap made single keys dead; 0 once they live again

  function quiet() {
    quietSince = Date.now();
  }

  function stillQuiet() {
    if (!quietSince) return false;
    if (held.size || Date.now() - quietSince < QUIET_FOR) return true;
    quietSince = 0;
    return false;
  }

  window.addEventListener("blur", () => held.clear());
  document.addEventListener(
    "keyup",
    (event) => {
      held.delete(event.code);
      // While Meta is down, some systems never tell of other keys going up.
      if (event.key === "Meta") held.clear();
    },
    true,
  );

  const WRITES = /^(text|email|password|number|search|url|tel|date|time)$/;
  function writes(element) {
    if (!element || !element.matches) return false;
    return element.matches("textarea, select") || element.isContentEditable ||
      (element.matches("input") && WRITES.test(element.type));
  }

  // By the character; else by the place on the keyboard, for layouts that write others there.
  function digitOf(event) {
    if (/^[0-9]$/.test(event.key)) return event.key;
    const place = /^Digit([0-9])$/.exec(event.code);
    return place && !event.shiftKey && event.key.length === 1 ? place[1] : "";
  }

  function letterOf(event) {
    if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
    const place = /^Key([A-Z])$/.exec(event.code);
    return place && event.key.length === 1 && event.key.charCodeAt(0) > 127 ? place[1].toLowerCase() : "";
  }

  const singleKeys = !document.documentElement.classList.contains("keys-off");

  document.addEventListener("keydown", (event) => {
    const dead = stillQuiet();
    held.add(event.code);
    if (!inCard() && by("undo-form") && (event.ctrlKey || event.metaKey) && letterOf(event) === "z" && !event.altKey && !event.shiftKey && !writes(event.target)) {
      event.preventDefault();
      if (!event.repeat && !dead) by("undo-form").requestSubmit();
    }
    if (!inCard() || event.isComposing || event.keyCode === 229) return;
    if (document.querySelector("dialog[open]")) return;
    const target = event.target;
    const alone = !event.ctrlKey && !event.metaKey && !event.altKey;
    const command = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (command && event.key === "Enter") {
      event.preventDefault();
      if (!event.repeat && !dead) press(by("submit"));
    } else if (command && letterOf(event) === "s") {
      event.preventDefault();
      if (!event.repeat && !dead) press(by("save"));
    } else if (command && letterOf(event) === "z" && !writes(target)) {
      if (!by("undo-form")) return;
      event.preventDefault();
      if (!event.repeat && !dead) by("undo-form").requestSubmit();
    } else if (event.altKey && !event.ctrlKey && !event.metaKey && !event.getModifierState("AltGraph") && event.code === "KeyS") {
      event.preventDefault();
      if (!event.repeat && !dead) openSkip();
    } else if (event.key === "Enter" && alone && !event.shiftKey && target.id === "words") {
      event.preventDefault();
      if (!event.repeat && target.value.trim()) act("quote");
    } else if (event.key === "Enter" && alone && !event.shiftKey && target.id === "copy") {
      event.preventDefault();
      if (!event.repeat) {
        pick = pickInCopy();
        addPick();
      }
    } else if (target.name === "sentence" && moveSentence(event)) {
      return;
    } else if (event.key === "Escape") {
      if (!by("fold").hidden) by("fold").hidden = true;
      else if (pick) dropPick();
    } else if (singleKeys && alone && !event.getModifierState("AltGraph") && !event.repeat && !dead && !writes(target)) {
      single(event);
    }
  });

  function single(event) {
    const digit = digitOf(event);
    const letter = event.shiftKey ? "" : letterOf(event);
    if (digit) chooseLevel(digit);
    else if (event.key === "?") by("keys-dialog").showModal();
    else if (letter === "q") addPick();
    else if (letter === "v") nextView();
    else if (letter === "p") toggleAsked();
    else if (letter === "n") focus(by("note"));
    else return;
    event.preventDefault();
  }

  function press(button) {
    form().requestSubmit(button);
  }

  // --- A fresh page, and a fresh card

  function dressResponse() {
    const first = boxes()[0];
    if (first) {
      rove(first);
      countMarked();
    }
    showPick();
  }

  function dress() {
    by("keys-open").hidden = !inCard();
    for (const link of document.querySelectorAll(".skip-links a")) {
      link.hidden = !by(link.hash.slice(1));
    }
    if (!inCard()) return;
    active = Number(by("active").value) || 0;
    by("tab").value = tab;
    for (const button of document.querySelectorAll(".show-all")) button.setAttribute("aria-expanded", "false");
    reached = false;
    farthest = window.scrollY;
    step = "";
    checkedWords = by("words").value;
    watchEnd();
    dressResponse();
    paint();
    restore();
  }

  dress();
})();
