// SPDX-License-Identifier: Apache-2.0
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { type DeclType, declare, maxSchemaDepth } from "../schema/decl-type.ts";
import { escapeName } from "../schema/escape.ts";
import { valueSchema } from "../schema/schema.ts";
import { SchemaNode } from "../schema/schema-node.ts";
import { type CompiledRule, RuleCompiler } from "./compile-rule.ts";

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

/** Kubernetes looks for rules along the structure only, so rules under `allOf` alone are not run. */
function declaresRules(schema: Schema, depth = 0): boolean {
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
