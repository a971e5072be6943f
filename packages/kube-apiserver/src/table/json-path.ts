// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | {
      readonly kind: "filter";
      readonly path: readonly Step[];
      readonly operator: "==" | "!=";
      readonly value: JsonValue;
    };

/** Finds values in an object. */
type JsonPath = (object: JsonValue) => JsonValue[];

const paths = new Map<string, JsonPath | undefined>();
const maxCached = 5_000;

/**
 * Compiles the part of JSONPath printer columns use: fields, `['a\\.b']`, escaped dots, indexes, `[*]` and filters such as
 * `[?(@.type=="Ready")]`. Undefined for anything else.
 */
export function jsonPath(source: string): JsonPath | undefined {
  if (paths.has(source)) return paths.get(source);
  if (paths.size >= maxCached) paths.clear();
  const steps = parse(source.startsWith(".") || source.startsWith("[") ? source : `.${source}`);
  const path = steps && ((object: JsonValue): JsonValue[] => follow([object], steps));
  paths.set(source, path);
  return path;
}

const token =
  /(?<all>\[\*\]|\.\*(?=[.[]|$))|\.(?<field>(?:[^.[\]\\]|\\.)+)|\['(?<quoted>(?:[^'\\]|\\.)*)'\]|\[(?<index>-?\d+)\]|\[\?\(\s*@(?<path>[^=!()]+)(?<operator>==|!=)\s*(?<value>"[^"]*"|'[^']*'|-?[\d.]+|true|false)\s*\)\]/y;

function parse(source: string): Step[] | undefined {
  const steps: Step[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const groups = token.exec(source)?.groups;
    const next = token.lastIndex;
    const found = groups && toSteps(groups);
    if (found === undefined || next === at) return undefined;
    // A filter's own path is parsed by the same expression and moves its position.
    token.lastIndex = next;
    steps.push(...found);
  }
  return steps;
}

function toSteps(groups: Readonly<Record<string, string | undefined>>): Step[] | undefined {
  const { field, quoted, index, all, path, operator, value } = groups;
  if (all !== undefined) return [{ kind: "all" }];
  if (field !== undefined) return [{ kind: "field", name: unescaped(field) }];
  // To the reference quotes mean no more than a dot in front: dots inside them separate fields too.
  if (quoted !== undefined) return quotedFields(quoted).map((name) => ({ kind: "field", name: unescaped(name) }));
  if (index !== undefined) return [{ kind: "index", index: Number(index) }];
  const inner = path === undefined ? undefined : parse(path.trimEnd());
  if (inner === undefined || value === undefined) return undefined;
  return [{ kind: "filter", path: inner, operator: operator === "!=" ? "!=" : "==", value: literal(value) }];
}

function quotedFields(text: string): string[] {
  return text.match(/(?:[^.\\]|\\.)+/g) ?? [];
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, "$1");

function literal(text: string): JsonValue {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return Number(text);
}

function follow(values: JsonValue[], steps: readonly Step[]): JsonValue[] {
  return steps.reduce((found, step) => found.flatMap((value) => take(value, step)), values);
}

function take(value: JsonValue, step: Step): JsonValue[] {
  switch (step.kind) {
    case "field": {
      const member = isJsonObject(value) ? ownValue(value, step.name) : undefined;
      return member === undefined ? [] : [member];
    }
    case "index": {
      const item = isJsonArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case "all":
      return isJsonArray(value) ? [...value] : isJsonObject(value) ? Object.values(value) : [];
    case "filter":
      return isJsonArray(value) ? value.filter((item) => matches(item, step)) : [];
  }
}

function matches(item: JsonValue, { path, operator, value }: Extract<Step, { kind: "filter" }>): boolean {
  const [found] = follow([item], path);
  if (found === undefined) return false;
  return (found === value) === (operator === "==");
}
