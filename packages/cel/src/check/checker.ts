// SPDX-License-Identifier: Apache-2.0
import type { FunctionDecl } from "../library/function.ts";
import { functions, patchFunctions } from "../library/libraries.ts";
import {
  type Ast,
  type Call,
  type Comprehension,
  type Expr,
  type ListExpr,
  type MapExpr,
  op,
  qualifiedNameOf,
  type Select,
  type StructExpr,
} from "../syntax/ast.ts";
import { type Issue, locationOf, noLocation, type Source } from "../syntax/source.ts";
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  formatType,
  intType,
  isDyn,
  isOptional,
  listOf,
  mapOf,
  optionalOf,
  param,
  typeParam,
  withoutOptional,
} from "../types/types.ts";
import {
  constructedField,
  constructedType,
  type Environment,
  literalType,
  typeNames,
  unplannedTypeNames,
} from "./environment.ts";
import { mostGeneral, OverloadResolver, Substitution } from "./overloads.ts";

/** Gives every node of an expression its type. Returns the errors; the tree is valid only without errors. */
export function check(ast: Ast, source: Source, env: Environment): readonly Issue[] {
  const checker = new Checker(ast, source, env);
  checker.check(ast.root);
  checker.finish(ast.root);
  return checker.issues;
}

class Checker {
  readonly issues: Issue[] = [];
  readonly #source: Source;
  readonly #offsets: ReadonlyMap<number, number>;
  readonly #env: Environment;
  readonly #substitution = new Substitution();
  readonly #resolver: OverloadResolver;
  /** Variables of the comprehensions around the node, innermost last. */
  readonly #scopes: Map<string, CelType>[] = [];
  #freeTypes = 0;

  constructor(ast: Ast, source: Source, env: Environment) {
    this.#source = source;
    this.#offsets = ast.offsets;
    this.#env = env;
    this.#resolver = new OverloadResolver(this.#substitution, {
      freshType: () => this.#freshType(),
      report: (id, message) => this.#report(id, message),
    });
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr);
    expr.type = type;
    return type;
  }

  /** Replaces what stands for a type that was found out later. */
  finish(root: Expr): void {
    const todo: Expr[] = [root];
    for (let expr = todo.pop(); expr; expr = todo.pop()) {
      expr.type = this.#substitution.apply(expr.type ?? errorType, true);
      for (const child of children(expr)) todo.push(child);
    }
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case "literal":
        return literalType(expr.value);
      case "ident":
        return this.#identifier(expr.id, expr.name) ?? errorType;
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return this.#comprehension(expr);
      case "unspecified":
        throw new Error("an expression with syntax errors cannot be checked");
    }
  }

  #report(id: number, message: string): void {
    const offset = this.#offsets.get(id);
    const location = offset === undefined ? noLocation : locationOf(this.#source, offset);
    this.issues.push({ location, message });
  }

  #freshType(): CelType {
    return typeParam(`_var${this.#freeTypes++}`);
  }

  #lookup(name: string): CelType | undefined {
    const plain = name.startsWith(".") ? name.slice(1) : name;
    const local = this.#scopes.findLast((scope) => scope.has(plain))?.get(plain);
    return local ?? this.#env.variables.get(plain) ?? typeNames.get(plain) ?? unplannedTypeNames.get(plain);
  }

  #identifier(id: number, name: string): CelType | undefined {
    const type = this.#lookup(name);
    if (!type) this.#report(id, `undeclared reference to '${name}' (in container '')`);
    return type;
  }

  #select(expr: Select): CelType {
    const name = qualifiedNameOf(expr);
    const declared = name === undefined || expr.isTest ? undefined : this.#lookup(name);
    if (declared && name !== undefined) {
      expr.qualifiedName = name;
      return declared;
    }
    const type = this.#field(expr.id, this.check(expr.operand), expr.field);
    return this.#substitution.apply(expr.isTest ? boolType : type);
  }

  /** The type of a field; on an optional the field is optional too. */
  #field(id: number, operand: CelType, field: string): CelType {
    const operandType = this.#substitution.apply(operand);
    const target = withoutOptional(operandType);
    const type = this.#plainField(id, target, field);
    return isOptional(operandType) ? optionalOf(type) : type;
  }

  #plainField(id: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case "map":
        return param(target, 1);
      case "struct":
        return this.#objectField(id, target.name, field);
      case "param":
        // The type must not become anything else later.
        this.#substitution.isAssignable(dynType, target);
        return dynType;
      case "dyn":
      case "error":
        return dynType;
      default:
        this.#report(id, `type '${formatType(target)}' does not support field selection`);
        return dynType;
    }
  }

  #objectField(id: number, typeName: string, field: string): CelType {
    if (constructedType(this.#env, typeName)) {
      const constructed = constructedField(typeName, field);
      if (!constructed) this.#report(id, `undefined field '${field}'`);
      return constructed ?? errorType;
    }
    const fields = this.#env.objects.get(typeName);
    // A field named like a keyword can be selected under its own name too.
    const type = fields?.get(field) ?? fields?.get(`__${field}__`);
    if (!fields) this.#report(id, `unexpected failed resolution of '${typeName}'`);
    else if (!type) this.#report(id, `undefined field '${field}'`);
    return type ?? errorType;
  }

  #call(expr: Call): CelType {
    if (expr.functionName === op.optionalSelect) return this.#optionalSelect(expr);
    for (const arg of expr.args) this.check(arg);
    if (!expr.target) return this.#resolve(expr, undefined);
    const prefix = qualifiedNameOf(expr.target);
    const qualified = `${prefix}.${expr.functionName}`.replace(/^\./, "");
    if (prefix !== undefined && this.#function(qualified)) {
      expr.functionName = qualified;
      expr.target = undefined;
      return this.#resolve(expr, undefined);
    }
    return this.#resolve(expr, this.check(expr.target));
  }

  #resolve(expr: Call, target: CelType | undefined): CelType {
    const name = expr.functionName.replace(/^\./, "");
    const decl = this.#function(name);
    if (!decl) {
      this.#report(expr.id, `undeclared reference to '${expr.functionName}' (in container '')`);
      return errorType;
    }
    expr.functionName = name;
    return this.#resolver.resolve(expr, decl, target) ?? errorType;
  }

  #function(name: string): FunctionDecl | undefined {
    return functions.get(name) ?? (this.#env.hasPatchTypes ? patchFunctions.get(name) : undefined);
  }

  #optionalSelect(expr: Call): CelType {
    const [operand, field] = expr.args;
    if (!operand || field?.kind !== "literal") return errorType;
    expr.overloads = ["select_optional_field"];
    field.type = literalType(field.value);
    const type = this.#field(expr.id, this.check(operand), String(field.value));
    return this.#substitution.apply(
      isOptional(this.#substitution.apply(operand.type ?? dynType)) ? type : optionalOf(type),
    );
  }

  #list(expr: ListExpr): CelType {
    let joined: CelType | undefined;
    expr.elements.forEach((element, index) => {
      const type = this.check(element);
      joined = this.#join(joined, expr.optionals.has(index) ? this.#unwrapped(element.id, type) : type);
    });
    return listOf(joined ?? this.#freshType());
  }

  #map(expr: MapExpr): CelType {
    let keys: CelType | undefined;
    let values: CelType | undefined;
    for (const { key, value, isOptional: isOptionalEntry } of expr.entries) {
      keys = this.#join(keys, this.check(key));
      const type = this.check(value);
      values = this.#join(values, isOptionalEntry ? this.#unwrapped(value.id, type) : type);
    }
    return mapOf(keys ?? this.#freshType(), values ?? this.#freshType());
  }

  /** The type inside the optional that an element written `?e` must be. */
  #unwrapped(id: number, type: CelType): CelType {
    if (!isOptional(type) && !isDyn(type)) {
      this.#report(id, `expected type '${formatType(optionalOf(type))}' but found '${formatType(type)}'`);
    }
    return withoutOptional(type);
  }

  /** What a list of both types is a list of. */
  #join(previous: CelType | undefined, current: CelType): CelType {
    if (!previous) return current;
    return this.#substitution.isAssignable(previous, current) ? mostGeneral(previous, current) : dynType;
  }

  #struct(expr: StructExpr): CelType {
    const constructed = constructedType(this.#env, expr.typeName.replace(/^\./, ""));
    if (constructed) return this.#constructed(expr, constructed);
    const type = this.#identifier(expr.id, expr.typeName);
    if (!type) return errorType;
    const made = type.kind === "type" ? param(type, 0) : undefined;
    this.#report(expr.id, made ? `'${made.name}' is not a message type` : `'${type.name}' is not a type`);
    for (const { id, name, value } of expr.fields) {
      this.check(value);
      const isScalar = made !== undefined && made.kind !== "opaque" && made.kind !== "type";
      this.#report(id, isScalar ? `undefined field '${name}'` : `unexpected failed resolution of '${expr.typeName}'`);
    }
    return errorType;
  }

  #constructed(expr: StructExpr, type: CelType): CelType {
    for (const { id, name, value, isOptional: isOptionalField } of expr.fields) {
      const checked = this.check(value);
      const given = isOptionalField ? this.#unwrapped(value.id, checked) : checked;
      const expected = constructedField(type.name, name);
      if (!expected) {
        this.#report(id, `expected type of field '${name}' is '' but provided type is '${formatType(given)}'`);
      } else if (!this.#substitution.isAssignable(expected, given)) {
        const types = `is '${formatType(expected)}' but provided type is '${formatType(given)}'`;
        this.#report(id, `expected type of field '${name}' ${types}`);
      }
    }
    return type;
  }

  #comprehension(expr: Comprehension): CelType {
    const range = this.#substitution.apply(this.check(expr.range));
    const accumulator = this.check(expr.accuInit);
    this.#scopes.push(new Map([[expr.accuVar, accumulator]]));
    this.#scopes.push(this.#iterationVariables(expr, range));
    this.#expect(expr.condition, boolType);
    this.#expect(expr.step, accumulator);
    this.#scopes.pop();
    const result = this.check(expr.result);
    this.#scopes.pop();
    return this.#substitution.apply(result);
  }

  #iterationVariables({ iterVar, iterVar2, range }: Comprehension, type: CelType): Map<string, CelType> {
    const [first, second] = this.#rangeTypes(range.id, type);
    if (iterVar2 === undefined) return new Map([[iterVar, type.kind === "list" ? second : first]]);
    return new Map([
      [iterVar, first],
      [iterVar2, second],
    ]);
  }

  /** The types of index and element, or key and value, of what is iterated. */
  #rangeTypes(id: number, range: CelType): readonly [CelType, CelType] {
    switch (range.kind) {
      case "list":
        return [intType, param(range, 0)];
      case "map":
        return [param(range, 0), param(range, 1)];
      case "dyn":
      case "error":
      case "param":
        this.#substitution.isAssignable(dynType, range);
        return [dynType, dynType];
      default: {
        const name = formatType(range);
        this.#report(
          id,
          `expression of type '${name}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [errorType, errorType];
      }
    }
  }

  #expect(expr: Expr, expected: CelType): void {
    const actual = this.check(expr);
    if (this.#substitution.isAssignable(expected, actual)) return;
    this.#report(expr.id, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  }
}

function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "call":
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case "select":
      return expr.qualifiedName === undefined ? [expr.operand] : [];
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}
