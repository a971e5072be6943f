// SPDX-License-Identifier: Apache-2.0
import { IpSyntaxError, parseIpAddress } from "@purlin/base";
import { goQuote } from "@purlin/kube-objects/json";
import { addressErrorText } from "./ip.ts";

/** The parts of a URL. */
export interface ParsedUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: string | undefined;
  /** With its port; IPv6 addresses are in brackets. */
  readonly host: string;
  readonly hasNoHost: boolean;
  readonly path: string;
  /** The path as written, where that differs from the path escaped again. */
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly forcesQuery: boolean;
  readonly fragment: string;
  readonly rawFragment: string;
}

function fail(message: string): never {
  throw new UrlSyntaxError(message);
}

/** Reads a URL as Go does; it may be relative and may have a fragment. Throws a UrlSyntaxError in Go's words. */
export function parseUrl(text: string): ParsedUrl {
  const hash = text.indexOf("#");
  const main = hash < 0 ? text : text.slice(0, hash);
  const url = located(main, () => parseMain(main, false));
  const written = hash < 0 ? "" : text.slice(hash + 1);
  if (written === "") return url;
  const fragment = located(text, () => unescapePart(written, "fragment"));
  return { ...url, fragment, rawFragment: escapePart(fragment, "fragment") === written ? "" : written };
}

/** Checks that a text is what a request may ask for: an absolute URL or an absolute path. */
export function checkRequestUri(text: string): void {
  located(text, () => parseMain(text, true));
}

function located<R>(text: string, parse: () => R): R {
  try {
    return parse();
  } catch (problem) {
    if (!(problem instanceof UrlSyntaxError)) throw problem;
    return fail(`parse ${goQuote(text)}: ${problem.message}`);
  }
}

function parseMain(text: string, isRequest: boolean): ParsedUrl {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\x00-\x1f\x7f]/.test(text)) fail("net/url: invalid control character in URL");
  if (text === "" && isRequest) fail("empty url");
  const { scheme, rest } = text === "*" ? { scheme: "", rest: "*" } : splitScheme(text);
  const { body, rawQuery, forcesQuery } = splitQuery(rest);
  const base = { ...emptyUrl, scheme, rawQuery, forcesQuery };
  if (text === "*") return { ...base, path: "*" };
  if (!body.startsWith("/")) {
    if (scheme !== "") return { ...base, opaque: body };
    if (isRequest) fail("invalid URI for request");
    if (body.split("/", 1)[0]?.includes(":")) fail("first path segment in URL cannot contain colon");
  }
  const hasAuthority = body.startsWith("//") && (scheme !== "" || (!isRequest && !body.startsWith("///")));
  const slash = hasAuthority ? body.indexOf("/", 2) : 0;
  const authority = hasAuthority ? body.slice(2, slash < 0 ? undefined : slash) : "";
  const rawPath = slash < 0 ? "" : body.slice(slash);
  const { user, host } = hasAuthority ? parseAuthority(scheme, authority) : { user: undefined, host: "" };
  const path = unescapePart(rawPath, "path");
  const hasNoHost = !hasAuthority && scheme !== "" && body.startsWith("/");
  const keptPath = escapePart(path, "path") === rawPath ? "" : rawPath;
  return { ...base, user, host, hasNoHost, path, rawPath: keptPath };
}

const emptyUrl: ParsedUrl = {
  scheme: "",
  opaque: "",
  user: undefined,
  host: "",
  hasNoHost: false,
  path: "",
  rawPath: "",
  rawQuery: "",
  forcesQuery: false,
  fragment: "",
  rawFragment: "",
};

function splitScheme(text: string): { readonly scheme: string; readonly rest: string } {
  if (text.startsWith(":")) fail("missing protocol scheme");
  const [match, scheme = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [""];
  return { scheme: scheme.toLowerCase(), rest: text.slice(match.length) };
}

function splitQuery(rest: string): { readonly body: string; readonly rawQuery: string; readonly forcesQuery: boolean } {
  const mark = rest.indexOf("?");
  if (mark < 0) return { body: rest, rawQuery: "", forcesQuery: false };
  const rawQuery = rest.slice(mark + 1);
  return { body: rest.slice(0, mark), rawQuery, forcesQuery: rawQuery === "" };
}

function parseAuthority(
  scheme: string,
  authority: string,
): { readonly user: string | undefined; readonly host: string } {
  const at = authority.lastIndexOf("@");
  const host = parseHost(scheme, authority.slice(at + 1));
  if (at < 0) return { user: undefined, host };
  const info = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(info)) fail("net/url: invalid userinfo");
  const colon = info.indexOf(":");
  const parts = colon < 0 ? [info] : [info.slice(0, colon), info.slice(colon + 1)];
  return { user: parts.map((part) => escapePart(unescapePart(part, "user"), "user")).join(":"), host };
}

function parseHost(scheme: string, host: string): string {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) fail("invalid IP-literal");
  if (bracket === 0) return parseBracketHost(host);
  const first = host.indexOf(":");
  if (first >= 0) {
    const isWeb = scheme === "http" || scheme === "https";
    checkPort(host.slice(isWeb ? first : host.lastIndexOf(":")));
  }
  return unescapePart(host, "host");
}

function parseBracketHost(host: string): string {
  const close = host.lastIndexOf("]");
  if (close < 0) fail("missing ']' in host");
  checkPort(host.slice(close + 1));
  const port = unescapePart(host.slice(close + 1), "host");
  const name = host.slice(1, close);
  const zone = name.indexOf("%25");
  const address =
    zone < 0
      ? unescapePart(name, "host")
      : unescapePart(name.slice(0, zone), "host") + unescapePart(name.slice(zone), "zone");
  try {
    if (parseIpAddress(address).bits === 32) fail("invalid IP-literal");
  } catch (problem) {
    if (problem instanceof IpSyntaxError) fail(`invalid host: ${addressErrorText(address, problem)}`);
    throw problem;
  }
  return `[${address}]${port}`;
}

function checkPort(port: string): void {
  if (port !== "" && !/^:\d*$/.test(port)) fail(`invalid port ${goQuote(port)} after host`);
}

/** The host without port and brackets, and the port. */
export function splitHost({ host }: ParsedUrl): { readonly name: string; readonly port: string } {
  const colon = host.lastIndexOf(":");
  const hasPort = colon >= 0 && /^:\d*$/.test(host.slice(colon));
  const name = hasPort ? host.slice(0, colon) : host;
  const bare = name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
  return { name: bare, port: hasPort ? host.slice(colon + 1) : "" };
}

export function escapedPath({ path, rawPath }: ParsedUrl): string {
  if (rawPath !== "" && isValidEncoding(rawPath, "path")) return rawPath;
  return path === "*" ? "*" : escapePart(path, "path");
}

/** The URL put together again, by which URLs are compared. */
export function formatUrl(url: ParsedUrl): string {
  const scheme = url.scheme === "" ? "" : `${url.scheme}:`;
  const body = url.opaque === "" ? formatHierarchy(url) : url.opaque;
  const query = url.forcesQuery || url.rawQuery !== "" ? `?${url.rawQuery}` : "";
  const isFragmentKept = url.rawFragment !== "" && isValidEncoding(url.rawFragment, "fragment");
  const fragment = isFragmentKept ? url.rawFragment : escapePart(url.fragment, "fragment");
  return scheme + body + query + (url.fragment === "" ? "" : `#${fragment}`);
}

function formatHierarchy(url: ParsedUrl): string {
  const { scheme, host, user } = url;
  const path = escapedPath(url);
  const isOmitted = url.hasNoHost && host === "" && user === undefined;
  const hasAuthority = (scheme !== "" || host !== "" || user !== undefined) && !isOmitted;
  const slashes = hasAuthority && (host !== "" || url.path !== "" || user !== undefined) ? "//" : "";
  const authority = `${slashes}${user === undefined ? "" : `${user}@`}${escapePart(host, "host")}`;
  const start = (hasAuthority ? authority : "") + (path !== "" && !path.startsWith("/") && host !== "" ? "/" : "");
  const needsDot = scheme === "" && start === "" && (path.split("/", 1)[0] ?? "").includes(":");
  return start + (needsDot ? "./" : "") + path;
}

/** A string that is not a URL, in the words of Go's net/url. */
export class UrlSyntaxError extends Error {}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const unreserved = `${alphanumeric}-_.~`;

type UrlPart = "path" | "host" | "zone" | "user" | "query" | "fragment";

/** The characters each part of a URL may hold as they are. */
const allowed: Readonly<Record<UrlPart, ReadonlySet<string>>> = {
  path: new Set(`${unreserved}$&+,/:;=@`),
  host: new Set(`${unreserved}!$&'()*+,;=:[]<>"`),
  zone: new Set(`${unreserved}!$&'()*+,;=:[]<>"`),
  user: new Set(`${unreserved}$&+,;=`),
  query: new Set(unreserved),
  fragment: new Set(`${unreserved}$&+,/:;=?@!()*`),
};

/** Whether a part has nothing that is escaped, or must be: most have nothing. */
function isAllowed(text: string, part: UrlPart): boolean {
  for (let at = 0; at < text.length; at++) if (!allowed[part].has(text.charAt(at))) return false;
  return true;
}

const isHex = (char: string | undefined): boolean => char !== undefined && /^[0-9A-Fa-f]$/.test(char);

/** Replaces the escapes of a URL part, or complains about a wrong one. */
export function unescapePart(text: string, part: UrlPart): string {
  if (isAllowed(text, part)) return text;
  const bytes: number[] = [];
  const source = Buffer.from(text, "utf8").toString("latin1");
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at);
    if (char === "%") {
      bytes.push(escapedByte(source, at, part));
      at += 2;
    } else {
      checkHostCharacter(char, part);
      bytes.push(char === "+" && part === "query" ? 0x20 : char.charCodeAt(0));
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

function escapedByte(source: string, at: number, part: UrlPart): number {
  const sequence = source.slice(at, at + 3);
  const wrong = new UrlSyntaxError(`invalid URL escape ${goQuote(Buffer.from(sequence, "latin1").toString("utf8"))}`);
  if (!isHex(sequence[1]) || !isHex(sequence[2])) throw wrong;
  const byte = Number.parseInt(sequence.slice(1), 16);
  // A host may escape only what is not ASCII; a zone may also escape what a host could hold.
  if (part === "host" && byte < 0x80 && sequence !== "%25") throw wrong;
  const isZoneCharacter = byte === 0x20 || allowed.host.has(String.fromCharCode(byte));
  if (part === "zone" && sequence !== "%25" && !isZoneCharacter) throw wrong;
  return byte;
}

function checkHostCharacter(char: string, part: UrlPart): void {
  if ((part !== "host" && part !== "zone") || char.charCodeAt(0) >= 0x80 || allowed[part].has(char)) return;
  throw new UrlSyntaxError(`invalid character ${goQuote(char)} in host name`);
}

/** Escapes what a URL part may not hold. */
function escapePart(text: string, part: UrlPart): string {
  if (isAllowed(text, part)) return text;
  const source = Buffer.from(text, "utf8").toString("latin1");
  return Array.from(source, (char) => (allowed[part].has(char) ? char : hexEscape(char))).join("");
}

const hexEscape = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

/** Whether a part that is already escaped can be used as it is. */
function isValidEncoding(text: string, part: UrlPart): boolean {
  return Array.from(text).every((char) => "!$&'()*+,;=:@[]%".includes(char) || allowed[part].has(char));
}
