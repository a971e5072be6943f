// SPDX-License-Identifier: Apache-2.0
import { boolType, listOf, mapOf, stringType, structType } from "../check/types.ts";
import { CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { ArrayList } from "../values/list.ts";
import { EntryMap } from "../values/map.ts";
import { OpaqueValue } from "../values/opaque.ts";
import type { Value } from "../values/value.ts";
import { fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import { checkRequestUri, escapedPath, formatUrl, type ParsedUrl, parseUrl, splitHost } from "./parse-url.ts";
import { UrlProblem, unescapePart } from "./url-escaping.ts";

const urlType = structType("kubernetes.URL");

/** A URL as a value. */
export class UrlValue extends OpaqueValue {
  readonly typeName = "kubernetes.URL";
  readonly url: ParsedUrl;

  constructor(url: ParsedUrl) {
    super();
    this.url = url;
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof UrlValue)) return isError(other) ? other : noSuchOverload;
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
    if (!(problem instanceof UrlProblem)) throw problem;
    return new CelError(`URL parse error during conversion from string: ${problem.message}`);
  }
}

const toUrl: Implementation = ([text]) => {
  if (typeof text !== "string") return noSuchOverload;
  return attempt(() => {
    checkRequestUri(text);
    return new UrlValue(parseUrl(text));
  });
};

const isUrl: Implementation = ([text]) =>
  typeof text === "string" ? !isError(attempt(() => checkRequestUri(text))) : noSuchOverload;

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

function part(name: string, id: string, read: (url: ParsedUrl) => Value): FunctionDecl {
  const run: Implementation = ([url]) => (url instanceof UrlValue ? read(url.url) : noSuchOverload);
  return { name, cost: fixedCost, overloads: [memberOverload(signature(id, [urlType], stringType), run)] };
}

/** Functions on URLs. */
export const urlFunctions: readonly FunctionDecl[] = [
  {
    name: "url",
    cost: traversal({ keepsSize: true }),
    overloads: [overload(signature("string_to_url", [stringType], urlType), toUrl)],
  },
  { name: "isURL", overloads: [overload(signature("is_url_string", [stringType], boolType), isUrl)] },
  part("getScheme", "url_get_scheme", (url) => url.scheme),
  part("getHost", "url_get_host", (url) => url.host),
  part("getHostname", "url_get_hostname", (url) => splitHost(url).name),
  part("getPort", "url_get_port", (url) => splitHost(url).port),
  part("getEscapedPath", "url_get_escaped_path", escapedPath),
  {
    name: "getQuery",
    cost: fixedCost,
    overloads: [
      memberOverload(signature("url_get_query", [urlType], mapOf(stringType, listOf(stringType))), ([url]) =>
        url instanceof UrlValue ? queryOf(url.url) : noSuchOverload,
      ),
    ],
  },
];
