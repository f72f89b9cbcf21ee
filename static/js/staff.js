"use strict";

// What script adds to the pages of staff: a field that selects itself, a button that copies it.
for (const field of document.querySelectorAll("[data-select]")) {
  field.addEventListener("focus", () => field.select());
}
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
      document.getElementById("said").textContent = "The link is copied.";
    } catch {
      field.focus();
    }
  });
}
