// SPDX-License-Identifier: Apache-2.0
import { type DeclType, declare } from "../schema/decl-type.ts";
import { escapeName } from "../schema/escape.ts";
import { type Schema, valueSchema } from "../schema/schema.ts";
import { SchemaNode } from "../schema/schema-node.ts";
import { type CompiledRule, RuleCompiler } from "./compile-rule.ts";

/** The rules of a schema, in a tree of the schema's shape. Rules are compiled when they are first needed. */
export class RuleSet {
  readonly schema: Schema;
  readonly items: RuleSet | undefined;
  readonly values: RuleSet | undefined;
  readonly properties: ReadonlyMap<string, RuleSet>;
  readonly allOf: readonly RuleSet[];
  readonly node: SchemaNode;
  readonly #ownRules: Schema;
  readonly #decl: DeclType | undefined;
  #compiled: readonly CompiledRule[] | undefined;

  /** @param rules where the rules are read from: the schema itself, or a part of its `allOf`. */
  constructor(rules: Schema, schema: Schema, { isRoot, decl }: { isRoot: boolean; decl: DeclType | undefined }) {
    this.schema = schema;
    this.#ownRules = rules;
    this.#decl = decl;
    this.node = new SchemaNode(schema, isRoot);
    this.items = rules.items && schema.items && childSet(rules.items, schema.items, decl?.element);
    const ruleValues = valueSchema(rules);
    const values = valueSchema(schema);
    this.values = ruleValues && values && childSet(ruleValues, values, decl?.element);
    this.properties = propertySets(rules, schema, decl);
    this.allOf = (rules.allOf ?? []).map((part) => new RuleSet(part, schema, { isRoot, decl })).filter(hasRules);
  }

  get hasOwnRules(): boolean {
    return (this.#ownRules["x-kubernetes-validations"] ?? []).length > 0;
  }

  /** The rules of this node; undefined when expressions cannot see its values. */
  get rules(): readonly CompiledRule[] | undefined {
    if (!this.#compiled && this.#decl) {
      const compiler = new RuleCompiler(this.schema, this.#decl);
      this.#compiled = (this.#ownRules["x-kubernetes-validations"] ?? []).map((rule) => compiler.compile(rule));
    }
    return this.#compiled;
  }
}

/** Prepares the rules of a schema; undefined when it has none. */
export function createRuleSet(schema: Schema, isRoot = true): RuleSet | undefined {
  if (!declaresRules(schema)) return undefined;
  return new RuleSet(schema, schema, { isRoot, decl: declare(schema, isRoot) });
}

/** Kubernetes looks for rules along the structure only, so rules under `allOf` alone are not run. */
function declaresRules(schema: Schema): boolean {
  const values = valueSchema(schema);
  return (
    (schema["x-kubernetes-validations"] ?? []).length > 0 ||
    (schema.items !== undefined && declaresRules(schema.items)) ||
    (values !== undefined && declaresRules(values)) ||
    Object.values(schema.properties ?? {}).some(declaresRules)
  );
}

function hasRules(set: RuleSet): boolean {
  return (
    set.hasOwnRules ||
    set.items !== undefined ||
    set.values !== undefined ||
    set.properties.size > 0 ||
    set.allOf.length > 0
  );
}

function childSet(rules: Schema, schema: Schema, decl: DeclType | undefined): RuleSet | undefined {
  const set = new RuleSet(rules, schema, { isRoot: schema["x-kubernetes-embedded-resource"] === true, decl });
  return hasRules(set) ? set : undefined;
}

function propertySets(rules: Schema, schema: Schema, decl: DeclType | undefined): ReadonlyMap<string, RuleSet> {
  const sets = new Map<string, RuleSet>();
  for (const [name, ruleProperty] of Object.entries(rules.properties ?? {})) {
    const property = schema.properties?.[name];
    const propertyDecl = property && declareProperty(name, property, decl);
    const set = property && propertyDecl && childSet(ruleProperty, property, propertyDecl);
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
