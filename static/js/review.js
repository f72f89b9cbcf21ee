"use strict";

// What script adds to a review: the draft keeps itself, and the minutes count while one works.
// Without this file the page does the same by its buttons.
(() => {
  const form = document.querySelector("form[data-review]");
  if (!form) return;
  const saved = document.getElementById("saved");
  const minutes = document.getElementById("minutes");
  const WAIT = 1500; // after the last change, until the draft is kept
  const BEAT = 15; // seconds between two looks at whether somebody works here
  const IDLE = 120; // seconds without a sign of life that still count as reading

  let timer = 0;
  let busy = false;
  let leaving = false;
  let again = false;

  async function keep() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const fields = new FormData(form);
    fields.set("do", "keep");
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields });
      const said = await answer.json();
      if (answer.ok && !leaving) saved.textContent = said.saved;
    } catch {
      if (!leaving) saved.textContent = "Not saved yet.";
    }
    busy = false;
    if (again) {
      again = false;
      keep();
    }
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, WAIT);
  });
  form.addEventListener("submit", () => {
    leaving = true;
    clearTimeout(timer);
  });

  // Seconds of work on this page are added to what stood there when it was opened.
  const before = Number(minutes.value) || 0;
  let active = 0;
  let seen = Date.now();
  let own = false;
  for (const sign of ["keydown", "pointerdown", "pointermove", "scroll"]) {
    document.addEventListener(sign, () => { seen = Date.now(); }, { passive: true, capture: true });
  }
  minutes.addEventListener("input", () => { own = true; });
  let beats = 0;
  setInterval(() => {
    if (leaving || document.hidden || Date.now() - seen > IDLE * 1000) return;
    active += BEAT;
    if (!own) minutes.value = String(before + Math.round(active / 60));
    beats += 1;
    if (beats % 20 === 0) keep(); // and so the item stays theirs while they read
  }, BEAT * 1000);

  document.getElementById("summary")?.focus();
})();
