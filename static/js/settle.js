"use strict";

// What script adds to settling: what was put down but not yet sent outlasts a sign-in or a reload,
// in this tab alone. Without this file the page does the same, save for that.
(() => {
  const PREFIX = "settle:";
  const form = document.querySelector("#panel[data-code]");
  const own = form && PREFIX + form.dataset.code;

  try {
    // Anything but the form itself is the server's answer: what it was kept for has come about.
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(PREFIX) && key !== own) sessionStorage.removeItem(key);
    }
  } catch {
    return; // a browser that keeps nothing
  }
  if (!form) return;

  const fields = () => [...form.elements].filter((field) => /^(level|reason|harm|guideline_gap)$/.test(field.name));
  const chosen = (field) => (field.type === "textarea" ? field.value : field.checked);

  function keep() {
    sessionStorage.setItem(own, JSON.stringify(fields().map((field) => [field.id, chosen(field)])));
  }

  const untouched = fields().every((field) => !chosen(field));
  for (const [id, value] of untouched ? JSON.parse(sessionStorage.getItem(own) || "[]") : []) {
    const field = document.getElementById(id);
    if (field && field.type === "textarea") field.value = value;
    else if (field) field.checked = value;
  }
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
})();
