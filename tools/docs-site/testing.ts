// SPDX-License-Identifier: Apache-2.0
// Reads what the site consists of, for its tests.

/** An element of a page: its name and attributes. */
export interface HtmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** The elements of HTML as the site writes it: attributes quoted, `<` escaped in text. */
export function elementsOf(html: string): readonly HtmlElement[] {
  return [...html.matchAll(/<([a-z][a-z0-9-]*)((?:\s+[^\s=<>]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(
    ([, name = "", attributes = ""]) => ({ name: name.toLowerCase(), attributes: attributesOf(attributes) }),
  );
}

function attributesOf(text: string): ReadonlyMap<string, string> {
  const pairs = [...text.matchAll(/([^\s=]+)(?:="([^"]*)")?/g)];
  return new Map(pairs.map(([, name = "", value = ""]) => [name.toLowerCase(), value.replaceAll("&amp;", "&")]));
}

const loading = ["src", "srcset", "poster", "data", "action", "formaction", "ping", "background", "xlink:href"];

/** What a file of the site would load from another host; also what only hides it, such as a script inside a page. */
export function externalRequests(address: string, text: string): readonly string[] {
  if (address.endsWith(".css")) return inStyle(text);
  if (address === "assets/search-index.js") return inIndex(text);
  if (address.endsWith(".js")) return inScript(text);
  if (address.endsWith(".svg")) return inPicture(text);
  return elementsOf(text).flatMap(inElement);
}

/** A picture brings its own styles, which load nothing; scripts never run in one. */
function inPicture(text: string): readonly string[] {
  const styles = [...text.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)].flatMap(([, style = ""]) => inStyle(style));
  const elements = elementsOf(text).filter(({ name }) => name !== "style");
  return [...styles, ...elements.flatMap(inElement)];
}

function inElement({ name, attributes }: HtmlElement): readonly string[] {
  const loaded = [...attributes].filter(
    ([attribute, value]) => (loading.includes(attribute) || (attribute === "href" && name !== "a")) && isForeign(value),
  );
  const found = loaded.map(([attribute, value]) => `<${name} ${attribute}="${value}">`);
  const isInline = name === "style" || attributes.has("style") || (name === "script" && !attributes.has("src"));
  const isHandler = [...attributes.keys()].some((attribute) => attribute.startsWith("on"));
  const isRefresh = attributes.get("http-equiv")?.toLowerCase() === "refresh";
  return isInline || isHandler || isRefresh ? [...found, `<${name}> with content that the policy forbids`] : found;
}

function isForeign(value: string): boolean {
  return /(^|[\s,])([a-z][a-z0-9+.-]*:|\/\/)/i.test(value);
}

function inStyle(text: string): readonly string[] {
  return text.match(/@import[^;]*|url\([^)]*\)|image-set\([^)]*\)/g) ?? [];
}

const requests =
  /\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|Worker)\b|\bimport\s*\(|["'`](?:[a-z]+:)?\/\/[a-z]/g;

function inScript(text: string): readonly string[] {
  const code = text.replaceAll(/^\s*\/\/.*$/gm, "");
  return code.match(requests) ?? [];
}

/** The index is data: one assignment of JSON. */
function inIndex(text: string): readonly string[] {
  try {
    JSON.parse(text.replace(/^globalThis\.purlinSearchIndex=/, "").replace(/;\n$/, ""));
    return [];
  } catch {
    return ["assets/search-index.js is more than data"];
  }
}
