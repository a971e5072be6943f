// SPDX-License-Identifier: Apache-2.0
// Runs before the page is painted, so that it never flashes in the other theme.

const stored = ((): string | null => {
  try {
    return localStorage.getItem("purlin-theme");
  } catch {
    return null; // the browser keeps no storage for this page
  }
})();
if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored;
