"use strict";

// What a page kept on this device goes when its person signs out.
document.addEventListener("submit", (event) => {
  if (!new URL(event.target.action, location.href).pathname.endsWith("/sign-out/")) return;
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith("room:")) localStorage.removeItem(key);
  }
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith("settle:")) sessionStorage.removeItem(key);
  }
});
