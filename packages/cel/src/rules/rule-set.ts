// SPDX-License-Identifier: Apache-2.0

import { childPath, keyPath, rootPath } from "@purlin/kube-objects/errors";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import type { Environment } from "../check/environment.ts";
import { estimateCost } from "../estimate/estimate.ts";
import { compile, type Program } from "../program.ts";
import { type DeclType, declare, environmentOf, maxRequestBytes, maxSchemaDepth } from "../schema/decl-type.ts";
import { escapeName, SchemaNode, valueSchema } from "../schema/schema-node.ts";
import type { TypeKind } from "../types/types.ts";
import { trimSpace } from "../values/text.ts";

/** Why a `fieldPath` names no field. */
export class RulePathError extends Error {}

const escapes: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

/** A field of a schema. */
export interface FoundField {
  /** Where it is, as messages show it. */
  readonly path: string;
  readonly schema: Schema;
}

/**
 * The field of a schema that a path such as `.spec.labels['app']` names. Throws RulePathError when the schema has no such field.
 * Without brackets only names can be written.
 */
export function resolveFieldPath(
  text: string,
  schema: Schema,
  { brackets = true }: { readonly brackets?: boolean } = {},
): FoundField {
  const tokens = tokenize(text);
  let path = rootPath;
  let current = schema;
  let at = 0;
  while (at < tokens.length) {
    const token = tokens[at++];
    if (token === "[" && !brackets) throw new RulePathError("array notation is not allowed");
    if (token !== "." && token !== "[") throw new RulePathError(`expected [ or . but got: ${token}`);
    const written = tokens[at++];
    if (written === undefined) throw new RulePathError("unexpected end of JSON path");
    const name = token === "[" ? unquote(written) : written;
    const next = step(current, name);
    path = next.isNamed ? childPath(path, name) : keyPath(path, name);
    current = next.schema;
    if (token === "[") expectClose(tokens[at++]);
  }
  return { path, schema: current };
}

function expectClose(token: string | undefined): void {
  if (token === undefined) throw new RulePathError("unexpected end of JSON path");
  if (token !== "]") throw new RulePathError(`expected ] but got ${token}`);
}

function step(schema: Schema, name: string): { readonly schema: Schema; readonly isNamed: boolean } {
  const { properties = {} } = schema;
  if (Object.keys(properties).length > 0) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property) return { schema: property, isNamed: true };
  }
  // Values of any kind can be named as well, but nothing inside them.
  const isOpen = schema.additionalProperties !== undefined && Object.keys(properties).length === 0;
  if (!isOpen) throw new RulePathError("does not refer to a valid field");
  return { schema: valueSchema(schema) ?? {}, isNamed: false };
}

/** Points and brackets are tokens of their own, quoted text is one token, and so is everything between. */
function tokenize(text: string): readonly string[] {
  return text.match(/'(?:[^']|(?<=\\)')*(?<!\\)'|'.*$|[.[\]]|[^.[\]']+|[^.[\]]+/gs) ?? [];
}

function unquote(token: string): string {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) {
    throw new RulePathError(`expected single quoted string but got ${token}`);
  }
  return token.slice(1, -1).replace(/\\(.)/gs, (sequence, kind: string) => {
    const char = escapes.get(kind);
    if (char === undefined) throw new RulePathError(`invalid string literal: invalid escape char ${sequence}`);
    return char;
  });
}

/** An expression with the most it can cost. */
export interface CostedProgram {
  readonly program: Program;
  readonly maxCost: bigint;
}

/** A rule after compilation. A rule that is blank has neither program nor error. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly condition?: CostedProgram;
  readonly error?: string;
  readonly message?: CostedProgram;
  readonly messageError?: string;
  /** Where to report a failure, below the node the rule is on. */
  readonly fieldPath?: string;
}

/** Compiles the rules of one schema node. */
export class RuleCompiler {
  readonly #schema: Schema;
  readonly #decl: DeclType;
  readonly #environments: Map<boolean, Environment> = new Map();

  constructor(schema: Schema, decl: DeclType) {
    this.#schema = schema;
    this.#decl = decl;
  }

  compile(rule: ValidationRule): CompiledRule {
    if (trimSpace(rule.rule) === "") return { rule };
    const env = this.#environment(rule.optionalOldSelf === true);
    const condition = this.#expression(rule.rule, env, {
      type: "bool",
      wrongType: "cel expression must evaluate to a bool",
      prefix: "",
    });
    if (typeof condition === "string") return { rule, error: condition };
    return { rule, condition, ...this.#message(rule, env), ...this.#fieldPath(rule) };
  }

  #message({ messageExpression }: ValidationRule, env: Environment): Pick<CompiledRule, "message" | "messageError"> {
    if (!messageExpression) return {};
    const message = this.#expression(messageExpression, env, {
      type: "string",
      wrongType: "messageExpression must evaluate to a string",
      prefix: "messageExpression ",
    });
    return typeof message === "string" ? { messageError: message } : { message };
  }

  #fieldPath({ fieldPath }: ValidationRule): Pick<CompiledRule, "fieldPath"> {
    if (!fieldPath) return {};
    try {
      return { fieldPath: resolveFieldPath(fieldPath, this.#schema).path };
    } catch (problem) {
      if (problem instanceof RulePathError) return {};
      throw problem;
    }
  }

  #expression(text: string, env: Environment, wanted: Wanted): CostedProgram | string {
    const program = compile(text, env);
    if ("problem" in program) {
      const stage =
        program.stage === "compile" ? "compilation" : wanted.prefix === "" ? "program instantiation" : "instantiation";
      return `${wanted.prefix}${stage} failed: ${program.problem}`;
    }
    if (program.type.kind !== wanted.type) return wanted.wrongType;
    return { program, maxCost: estimateCost(program.root, this.#decl).max };
  }

  #environment(hasOptionalOldSelf: boolean): Environment {
    const known = this.#environments.get(hasOptionalOldSelf);
    if (known) return known;
    const env = environmentOf(this.#decl, hasOptionalOldSelf);
    this.#environments.set(hasOptionalOldSelf, env);
    return env;
  }
}

interface Wanted {
  readonly type: TypeKind;
  readonly wrongType: string;
  readonly prefix: string;
}

/** How often values of a type can be in one object, when nothing bounds the lists and maps around them. */
export function maxCardinality({ minSize }: DeclType): bigint {
  return BigInt(Math.floor(maxRequestBytes / (minSize + 1)));
}

interface NodeParts {
  readonly isRoot: boolean;
  readonly decl: DeclType | undefined;
  readonly depth: number;
}

/** The rules of a schema, in a tree of the schema's shape. Rules are compiled when they are first needed. */
export class RuleSet {
  readonly schema: Schema;
  readonly items: RuleSet | undefined;
  readonly values: RuleSet | undefined;
  readonly properties: ReadonlyMap<string, RuleSet>;
  readonly allOf: readonly RuleSet[];
  readonly node: SchemaNode;
  readonly #ownRules: readonly ValidationRule[];
  readonly #compiler: RuleCompiler | undefined;
  readonly #compiled: CompiledRule[] = [];

  /** @param rules where the rules are read from: the schema itself, or a part of its `allOf`. */
  constructor(rules: Schema, schema: Schema, { isRoot, decl, depth }: NodeParts) {
    this.schema = schema;
    this.#ownRules = rules["x-kubernetes-validations"] ?? [];
    this.#compiler = decl && new RuleCompiler(schema, decl);
    this.node = new SchemaNode(schema, isRoot);
    // Rules that are nested deeper cannot be stored.
    const below = depth < maxSchemaDepth ? rules : {};
    const element = { decl: decl?.element, depth: depth + 1 };
    this.items = below.items && schema.items && childSet(below.items, schema.items, element);
    const ruleValues = valueSchema(below);
    const values = valueSchema(schema);
    this.values = ruleValues && values && childSet(ruleValues, values, element);
    this.properties = propertySets(below, schema, { decl, depth });
    this.allOf = (below.allOf ?? [])
      .map((part) => new RuleSet(part, schema, { isRoot, decl, depth: depth + 1 }))
      .filter(hasRules);
  }

  /** The number of rules on this node itself. */
  get ruleCount(): number {
    return this.#ownRules.length;
  }

  /** Whether expressions can see values of this node, without which its rules cannot be run. */
  get isVisible(): boolean {
    return this.#compiler !== undefined;
  }

  rule(index: number): CompiledRule {
    const known = this.#compiled[index];
    if (known) return known;
    const rule = this.#ownRules[index] ?? { rule: "" };
    const compiled = this.#compiler?.compile(rule) ?? { rule };
    this.#compiled[index] = compiled;
    return compiled;
  }
}

/** Prepares the rules of a schema; undefined when it has none. */
export function createRuleSet(schema: Schema, isRoot = true): RuleSet | undefined {
  if (!declaresRules(schema)) return undefined;
  return new RuleSet(schema, schema, { isRoot, decl: declare(schema, isRoot), depth: 0 });
}

/** Whether a schema has rules. Kubernetes looks for rules along the structure only, so rules under `allOf` alone are not run. */
export function declaresRules(schema: Schema, depth = 0): boolean {
  if (depth > maxSchemaDepth) return false;
  const values = valueSchema(schema);
  return (
    (schema["x-kubernetes-validations"] ?? []).length > 0 ||
    (schema.items !== undefined && declaresRules(schema.items, depth + 1)) ||
    (values !== undefined && declaresRules(values, depth + 1)) ||
    Object.values(schema.properties ?? {}).some((property) => declaresRules(property, depth + 1))
  );
}

function hasRules(set: RuleSet): boolean {
  return (
    set.ruleCount > 0 ||
    set.items !== undefined ||
    set.values !== undefined ||
    set.properties.size > 0 ||
    set.allOf.length > 0
  );
}

function childSet(rules: Schema, schema: Schema, parts: Omit<NodeParts, "isRoot">): RuleSet | undefined {
  const set = new RuleSet(rules, schema, { ...parts, isRoot: schema["x-kubernetes-embedded-resource"] === true });
  return hasRules(set) ? set : undefined;
}

function propertySets(
  rules: Schema,
  schema: Schema,
  { decl, depth }: Omit<NodeParts, "isRoot">,
): ReadonlyMap<string, RuleSet> {
  const sets = new Map<string, RuleSet>();
  for (const [name, ruleProperty] of Object.entries(rules.properties ?? {})) {
    const property = schema.properties?.[name];
    const propertyDecl = property && declareProperty(name, property, decl);
    const set = property && propertyDecl && childSet(ruleProperty, property, { decl: propertyDecl, depth: depth + 1 });
    if (set) sets.set(name, set);
  }
  return sets;
}

/** What expressions see of a property. One whose name cannot be escaped is seen only by its own rules. */
function declareProperty(name: string, property: Schema, parent: DeclType | undefined): DeclType | undefined {
  const escaped = escapeName(name);
  if (escaped !== undefined) return parent?.fields?.get(escaped);
  return declare(property, property["x-kubernetes-embedded-resource"] === true);
}
