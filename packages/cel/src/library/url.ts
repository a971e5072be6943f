// SPDX-License-Identifier: Apache-2.0
import { boolType, type CelType, listOf, mapOf, stringType, structType } from "../types/types.ts";
import { ArrayList, EntryMap } from "../values/collections.ts";
import { CelError, isError, type Meter, noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import { fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import {
  checkRequestUri,
  escapedPath,
  formatUrl,
  type ParsedUrl,
  parseUrl,
  splitHost,
  UrlSyntaxError,
  unescapePart,
} from "./parse-url.ts";

const urlType = structType("kubernetes.URL");

/** A URL as a value. */
class UrlValue extends OpaqueValue {
  readonly typeName = "kubernetes.URL";
  readonly url: ParsedUrl;

  constructor(url: ParsedUrl) {
    super();
    this.url = url;
  }

  equals(other: Value, meter: Meter): boolean | CelError {
    if (!(other instanceof UrlValue)) return isError(other) ? other : noSuchOverload;
    spendOnUrl(this.url, meter);
    spendOnUrl(other.url, meter);
    return this.toString() === other.toString();
  }

  override toString(): string {
    return formatUrl(this.url);
  }
}

function attempt<R>(action: () => R): R | CelError {
  try {
    return action();
  } catch (problem) {
    if (!(problem instanceof UrlSyntaxError)) throw problem;
    return new CelError(`URL parse error during conversion from string: ${problem.message}`);
  }
}

const toUrl: Implementation = ([text], meter) => {
  if (typeof text !== "string") return noSuchOverload;
  spendOnParsing(text, meter);
  return attempt(() => {
    checkRequestUri(text);
    return new UrlValue(parseUrl(text));
  });
};

const isUrl: Implementation = ([text], meter) => {
  if (typeof text !== "string") return noSuchOverload;
  spendOnParsing(text, meter);
  return !isError(attempt(() => checkRequestUri(text)));
};

/** URLs are read character by character, and their parts are written again to compare. */
function spendOnParsing(text: string, meter: Meter): void {
  meter.spend(text.length * 4);
}

const maxQueryParameters = 10_000;

/** The parameters of a query by name; what is written wrongly is left out. */
function queryOf({ rawQuery }: ParsedUrl): Value {
  const values = new Map<string, string[]>();
  const parts = rawQuery.split("&");
  for (const part of parts.length > maxQueryParameters ? [] : parts) {
    if (part === "" || part.includes(";")) continue;
    const equals = part.indexOf("=");
    const pair = attempt(() => {
      const name = unescapePart(equals < 0 ? part : part.slice(0, equals), "query");
      return [name, equals < 0 ? "" : unescapePart(part.slice(equals + 1), "query")] as const;
    });
    if (isError(pair)) continue;
    const [name, value] = pair;
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return new EntryMap([...values].map(([name, list]) => [name, new ArrayList(list)] as const));
}

function spendOnUrl({ host, path, rawQuery }: ParsedUrl, meter: Meter): void {
  meter.spend((host.length + path.length + rawQuery.length) * 4);
}

interface UrlPartFunction {
  readonly name: string;
  readonly id: string;
  readonly result?: CelType;
}

function part({ name, id, result = stringType }: UrlPartFunction, read: (url: ParsedUrl) => Value): FunctionDecl {
  const run: Implementation = ([url], meter) => {
    if (!(url instanceof UrlValue)) return noSuchOverload;
    spendOnUrl(url.url, meter);
    return read(url.url);
  };
  return { name, cost: fixedCost, overloads: [memberOverload(signature(id, [urlType], result), run)] };
}

/** Functions on URLs. */
export const urlFunctions: readonly FunctionDecl[] = [
  {
    name: "url",
    cost: traversal({ keepsSize: true }),
    overloads: [overload(signature("string_to_url", [stringType], urlType), toUrl)],
  },
  { name: "isURL", overloads: [overload(signature("is_url_string", [stringType], boolType), isUrl)] },
  part({ name: "getScheme", id: "url_get_scheme" }, (url) => url.scheme),
  part({ name: "getHost", id: "url_get_host" }, (url) => url.host),
  part({ name: "getHostname", id: "url_get_hostname" }, (url) => splitHost(url).name),
  part({ name: "getPort", id: "url_get_port" }, (url) => splitHost(url).port),
  part({ name: "getEscapedPath", id: "url_get_escaped_path" }, escapedPath),
  part({ name: "getQuery", id: "url_get_query", result: mapOf(stringType, listOf(stringType)) }, queryOf),
];
