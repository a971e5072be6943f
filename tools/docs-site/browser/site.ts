// SPDX-License-Identifier: Apache-2.0
// What the pages do in a browser. Without it they can be read and navigated; it shows the controls that need it.
import { excerptOf, type SearchHit, type SearchIndex, searchIndex } from "./search.ts";

declare global {
  var purlinSearchIndex: SearchIndex | undefined;
}

const root = document.documentElement;
const toRoot = root.dataset["root"] ?? "";
const mostHits = 20;

function find<T extends Element>(selector: string, type: new () => T): T | undefined {
  const found = document.querySelector(selector);
  return found instanceof type ? found : undefined;
}

function startTheme(): void {
  const button = find("button.theme", HTMLButtonElement);
  if (button === undefined) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const shown = root.dataset["theme"] ?? (isDark ? "dark" : "light");
    const next = shown === "dark" ? "light" : "dark";
    root.dataset["theme"] = next;
    try {
      localStorage.setItem("purlin-theme", next);
    } catch {
      // The choice then lasts as long as the page.
    }
  });
}

function startCopyButtons(): void {
  if (navigator.clipboard === undefined) return;
  for (const button of document.querySelectorAll<HTMLButtonElement>("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const code = button.parentElement?.querySelector("code")?.textContent ?? "";
      const show = (text: string): void => {
        button.textContent = text;
        setTimeout(() => {
          button.textContent = "Copy";
        }, 2000);
      };
      navigator.clipboard.writeText(code).then(
        () => show("Copied"),
        () => show("Failed"),
      );
    });
  }
}

function startMenu(): void {
  const button = find("button.menu", HTMLButtonElement);
  const pages = find("#pages", HTMLElement);
  if (button === undefined || pages === undefined) return;
  button.hidden = false;
  pages.classList.add("folded");
  button.addEventListener("click", () => {
    const isOpen = !pages.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(isOpen));
  });
}

/** The index is loaded as a script when it is first needed: that also works for pages opened from a disk. */
const loadIndex = (() => {
  let loading: Promise<SearchIndex> | undefined;
  const load = (): Promise<SearchIndex> =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${toRoot}assets/search-index.js`;
      script.addEventListener("load", () => {
        if (globalThis.purlinSearchIndex === undefined) reject(new Error("the search index is empty"));
        else resolve(globalThis.purlinSearchIndex);
      });
      script.addEventListener("error", () => reject(new Error("cannot load the search index")));
      document.head.append(script);
    });
  return (): Promise<SearchIndex> => {
    loading ??= load();
    return loading;
  };
})();

function hitElement({ entry }: SearchHit, query: string): HTMLLIElement {
  const link = document.createElement("a");
  link.href = toRoot + entry.address;
  const title = document.createElement("strong");
  title.textContent =
    entry.heading === "" || entry.heading === entry.page ? entry.page : `${entry.page} › ${entry.heading}`;
  const text = document.createElement("span");
  text.textContent = excerptOf(entry.text, query);
  link.append(title, text);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function startSearch(): void {
  const box = find(".search", HTMLElement);
  const input = find("#search", HTMLInputElement);
  const results = find("#search-results", HTMLElement);
  const list = results?.querySelector("ul");
  const status = results?.querySelector("p");
  if (!box || !input || !results || !list || !status) return;
  box.hidden = false;

  const show = async (): Promise<void> => {
    const query = input.value.trim();
    results.hidden = query === "";
    if (query === "") return;
    try {
      const hits = searchIndex(await loadIndex(), query, mostHits);
      if (input.value.trim() !== query) return; // typed on while the index was loading
      list.replaceChildren(...hits.map((hit) => hitElement(hit, query)));
      status.textContent = hits.length === 0 ? `Nothing found for “${query}”` : `${hits.length} results`;
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const close = (): void => {
    results.hidden = true;
  };
  input.addEventListener("input", () => void show());
  input.addEventListener("focus", () => void loadIndex().catch(() => {}));
  box.addEventListener("keydown", (event) => moveThrough(event, { input, list, close }));
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !box.contains(target)) close();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
}

interface SearchParts {
  readonly input: HTMLInputElement;
  readonly list: Element;
  readonly close: () => void;
}

/** Arrow keys move through the results, Escape goes back, Enter in the field opens the first one. */
function moveThrough(event: KeyboardEvent, { input, list, close }: SearchParts): void {
  const { activeElement } = document;
  const stops: readonly HTMLElement[] = [input, ...list.querySelectorAll("a")];
  const at = activeElement instanceof HTMLElement ? stops.indexOf(activeElement) : -1;
  if (event.key === "Escape") {
    close();
    input.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    stops[Math.max(0, Math.min(stops.length - 1, next))]?.focus();
  } else if (event.key === "Enter" && at === 0) {
    list.querySelector("a")?.click();
  }
}

startTheme();
startCopyButtons();
startMenu();
startSearch();
