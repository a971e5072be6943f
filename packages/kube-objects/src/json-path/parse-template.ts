// SPDX-License-Identifier: Apache-2.0

/** One step from values to the values inside them. */
export type PathStep =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "union"; readonly paths: readonly (readonly PathStep[])[] }
  | { readonly kind: "descend" }
  | { readonly kind: "all" }
  | { readonly kind: "slices"; readonly slices: readonly Slice[] }
  | { readonly kind: "filter"; readonly left: Operand; readonly operator: Operator; readonly right: Operand }
  | { readonly kind: "exists"; readonly path: Path };

/** Items from `start` before `end`, every `step`th; an index is a slice of one item. */
export interface Slice {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly step?: number | undefined;
  readonly isIndex: boolean;
}

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=";
export type Operand = { readonly literal: string | number | bigint | boolean } | { readonly path: Path };

/** A path from the root (`$`, or nothing) or the current value (`@`). */
export interface Path {
  readonly isCurrent: boolean;
  readonly steps: readonly PathStep[];
}

/** A part of a template as kubectl takes it: text, values, or what is repeated for each value. */
export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "values"; readonly path: Path }
  | { readonly kind: "range"; readonly path: Path; readonly body: readonly TemplateNode[] };

/** Parses a template such as `{range .items[*]}{.metadata.name}{"\n"}{end}`. Throws an Error that names what is wrong. */
export function parseTemplate(source: string): TemplateNode[] {
  const root: TemplateNode[] = [];
  const open: { readonly path: Path; readonly body: TemplateNode[] }[] = [];
  const add = (node: TemplateNode): void => void (open.at(-1)?.body ?? root).push(node);
  for (let at = 0; at < source.length; ) {
    const brace = source.indexOf("{", at);
    const end = brace === -1 ? source.length : brace;
    if (end > at) add({ kind: "text", text: source.slice(at, end) });
    if (brace === -1) break;
    const close = closingBrace(source, brace + 1);
    for (const action of splitActions(source.slice(brace + 1, close))) {
      const [, range] = /^range\s+(.*)$/s.exec(action) ?? [];
      if (range !== undefined) open.push({ path: parsePath(range), body: [] });
      else if (action === "end") endRange(open, add);
      else if (/^["']/.test(action)) add({ kind: "text", text: unquote(action) });
      else add({ kind: "values", path: parsePath(action) });
    }
    at = close + 1;
  }
  if (open.length > 0) throw new Error("range without end");
  return root;
}

function endRange(
  open: { readonly path: Path; readonly body: TemplateNode[] }[],
  add: (node: TemplateNode) => void,
): void {
  const done = open.pop();
  if (done === undefined) throw new Error("end without range");
  add({ kind: "range", ...done });
}

function closingBrace(source: string, start: number): number {
  let quote = "";
  for (let at = start; at < source.length; at++) {
    const character = source.charAt(at);
    if (character === "\\") at++;
    else if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === "}") return at;
  }
  throw new Error("unclosed {: add }");
}

const actionToken = /(?:\[[^\]]*\]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s["'])+/g;

/** Several paths and texts may stand in one pair of braces, with spaces between them. */
function splitActions(source: string): string[] {
  const text = source.trim();
  if (text.startsWith("range ") || text === "end") return [text];
  const left = text.replaceAll(actionToken, "").trim();
  if (left !== "") throw new Error(`cannot parse "${left}" in "${text}"`);
  return text.match(actionToken) ?? [];
}

function unquote(text: string): string {
  const inner = text.slice(1, text.length > 1 ? -1 : undefined);
  const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
  return inner.replaceAll(/\\(.)/gs, (_, character: string) => escapes[character] ?? character);
}

const stepToken =
  /(?<descend>\.\.)|\.?\[\?\((?<filter>(?:"[^"]*"|'[^']*'|[^"'])*?)\)\]|\.?\[(?<inside>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]"'])*)\]|\.?(?<all>\*)|\.?(?<field>(?:[^.[\]\\\s{}"'*()=!<>]|\\.)+)|(?<end>\.)$/y;

/** Parses a path such as `.spec.ports[0].port`, without braces. Throws an Error that names what is wrong. */
export function parsePath(source: string): Path {
  const text = source.trim();
  const isCurrent = text.startsWith("@");
  const rest = text.replace(/^[@$]/, "");
  const steps: PathStep[] = [];
  for (let at = 0; at < rest.length; ) {
    stepToken.lastIndex = at;
    const groups = stepToken.exec(rest)?.groups;
    if (groups === undefined) throw new Error(`cannot parse "${rest.slice(at)}"`);
    at = stepToken.lastIndex;
    const step = toStep(groups);
    if (step !== undefined) steps.push(step);
  }
  return { isCurrent, steps };
}

function toStep({
  descend,
  filter,
  inside,
  all,
  field,
}: Readonly<Record<string, string | undefined>>): PathStep | undefined {
  if (descend !== undefined) return { kind: "descend" };
  if (filter !== undefined) return parseFilter(filter);
  if (all !== undefined) return { kind: "all" };
  if (inside !== undefined) return parseBrackets(inside.trim());
  return field === undefined ? undefined : { kind: "field", name: unescaped(field) };
}

function parseBrackets(text: string): PathStep {
  if (text === "*") return { kind: "all" };
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,"'])+/g)?.map((part) => part.trim()) ?? [];
  if (parts.length > 0 && parts.every((part) => /^["']/.test(part))) {
    return { kind: "union", paths: parts.map((part) => quotedFields(part.slice(1, part.length > 1 ? -1 : undefined))) };
  }
  const slices = parts.map(parseSlice);
  if (slices.length === 0) throw new Error("[] is empty");
  return { kind: "slices", slices };
}

/** To the reference, quotes mean no more than a dot in front: dots inside them separate fields too, unless they are escaped. */
function quotedFields(text: string): PathStep[] {
  const names = text.match(/(?:[^.\\]|\\.)+/gs) ?? [];
  return names.map((name) => ({ kind: "field", name: unescaped(name) }));
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/gs, "$1");

function parseSlice(text: string): Slice {
  const match = /^(-?\d+)?(?:(:)(-?\d+)?(?::(-?\d+)?)?)?$/.exec(text);
  if (match === null || text === "") throw new Error(`cannot parse "[${text}]"`);
  const number = (digits: string | undefined): number | undefined =>
    digits === undefined ? undefined : Number(digits);
  return { start: number(match[1]), end: number(match[3]), step: number(match[4]), isIndex: match[2] === undefined };
}

function parseFilter(text: string): PathStep {
  const match = /^((?:"[^"]*"|'[^']*'|[^"'=!<>])+?)(==|!=|<=|>=|<|>)(.+)$/s.exec(text.trim());
  if (match === null) return { kind: "exists", path: parsePath(text) };
  const [, left = "", operator = "", right = ""] = match;
  return { kind: "filter", left: parseOperand(left), operator: operator as Operator, right: parseOperand(right) };
}

function parseOperand(source: string): Operand {
  const text = source.trim();
  if (/^["']/.test(text)) return { literal: unquote(text) };
  if (text === "true" || text === "false") return { literal: text === "true" };
  if (!/^-?\d+(\.\d+)?$/.test(text)) return { path: parsePath(text) };
  const number = Number(text);
  const isExact = text.includes(".") || Number.isSafeInteger(number) || text.length > 20;
  return { literal: isExact ? number : BigInt(text) };
}
