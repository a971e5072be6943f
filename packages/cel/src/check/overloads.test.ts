// SPDX-License-Identifier: Apache-2.0
// What type parameters stand for, which types fit where, and how types are shown.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  errorType,
  formatSignature,
  formatType,
  intType,
  isOptional,
  isSameType,
  listOf,
  mapOf,
  nullType,
  opaqueType,
  optionalOf,
  param,
  stringType,
  structType,
  timestampType,
  typeOf,
  typeParam,
  typeType,
  uintType,
  withoutOptional,
} from "../types/types.ts";
import { mostGeneral, Substitution } from "./overloads.ts";

const [a, b] = [typeParam("A"), typeParam("B")];
const fits = (from: CelType, to: CelType): boolean => new Substitution().isAssignable(from, to);
const name = (type: CelType): string => formatType(type);

describe("types that fit", () => {
  const rows: readonly (readonly [CelType, CelType])[] = [
    [intType, intType],
    [intType, dynType],
    [dynType, intType],
    [errorType, stringType],
    [listOf(intType), listOf(intType)],
    [listOf(dynType), listOf(stringType)],
    [listOf(stringType), listOf(dynType)],
    [mapOf(stringType, intType), mapOf(stringType, dynType)],
    [nullType, nullType],
    [nullType, durationType],
    [nullType, timestampType],
    [nullType, structType("Object")],
    [nullType, optionalOf(intType)],
    [timestampType, nullType],
    [typeOf(intType), typeType],
    [typeOf(intType), typeOf(stringType)],
    [optionalOf(intType), optionalOf(intType)],
    [structType("a.B"), structType("a.B")],
  ];
  for (const [from, to] of rows) test(`${name(from)} fits ${name(to)}`, () => assert.equal(fits(from, to), true));
});

describe("types that do not", () => {
  const rows: readonly (readonly [CelType, CelType])[] = [
    [intType, uintType],
    [intType, doubleType],
    [stringType, bytesType],
    [boolType, intType],
    [intType, listOf(intType)],
    [listOf(intType), listOf(stringType)],
    [mapOf(stringType, intType), mapOf(stringType, stringType)],
    [mapOf(stringType, intType), listOf(intType)],
    [nullType, intType],
    [nullType, stringType],
    [nullType, listOf(intType)],
    [optionalOf(intType), intType],
    [intType, optionalOf(intType)],
    [optionalOf(intType), optionalOf(stringType)],
    [structType("a.B"), structType("a.C")],
    [opaqueType("a"), opaqueType("b")],
    [durationType, timestampType],
  ];
  for (const [from, to] of rows) {
    test(`${name(from)} does not fit ${name(to)}`, () => assert.equal(fits(from, to), false));
  }
});

describe("type parameters", () => {
  test("a parameter stands for the first type it meets", () => {
    const types = new Substitution();
    assert.equal(types.isAssignable(listOf(intType), listOf(a)), true);
    assert.equal(types.apply(a), intType);
    assert.equal(types.isAssignable(stringType, a), false);
    assert.equal(types.isAssignable(intType, a), true);
  });

  test("all arguments of a call have to agree", () => {
    assert.equal(new Substitution().areAssignable([listOf(intType), intType], [listOf(a), a]), true);
    assert.equal(new Substitution().areAssignable([listOf(intType), stringType], [listOf(a), a]), false);
    assert.equal(new Substitution().areAssignable([intType], [a, a]), false, "their number too");
  });

  test("an attempt that fails leaves everything as it was", () => {
    const types = new Substitution();
    assert.equal(types.areAssignable([intType, stringType], [a, a]), false);
    assert.equal(types.apply(a), a);
    assert.equal(types.isAssignable(stringType, a), true);
    assert.equal(types.apply(a), stringType);
  });

  test("a parameter becomes the more general of two types", () => {
    const types = new Substitution();
    assert.equal(types.areAssignable([intType, dynType], [a, a]), true);
    assert.equal(types.apply(a), dynType);
  });

  test("a parameter may stand for another", () => {
    const types = new Substitution();
    assert.equal(types.isAssignable(listOf(b), listOf(a)), true);
    assert.equal(types.isAssignable(intType, b), true);
    assert.equal(formatType(types.apply(listOf(a))), "list(int)");
  });

  test("a parameter cannot contain itself", () => {
    assert.equal(fits(listOf(a), a), false);
    assert.equal(fits(a, a), true);
  });

  test("parameters are replaced inside all types", () => {
    const types = new Substitution();
    types.isAssignable(intType, a);
    const shown = [listOf(a), mapOf(stringType, listOf(a)), typeOf(a), optionalOf(a), stringType, b];
    assert.deepEqual(
      shown.map((type) => formatType(types.apply(type))),
      ["list(int)", "map(string, list(int))", "type(int)", "optional_type(int)", "string", "B"],
    );
  });

  test("parameters that stand for nothing are dyn on request", () => {
    const types = new Substitution();
    assert.equal(types.apply(listOf(b)).params[0]?.kind, "param");
    assert.equal(formatType(types.apply(mapOf(b, b), true)), "map(dyn, dyn)");
  });
});

describe("the more general of two types", () => {
  const rows: readonly (readonly [CelType, CelType, CelType])[] = [
    [dynType, intType, dynType],
    [intType, dynType, dynType],
    [listOf(intType), listOf(dynType), listOf(dynType)],
    [listOf(dynType), listOf(intType), listOf(dynType)],
    [mapOf(dynType, intType), mapOf(stringType, intType), mapOf(dynType, intType)],
    [typeParam("A"), intType, typeParam("A")],
    [intType, intType, intType],
  ];
  for (const [one, other, is] of rows) {
    test(`of ${name(one)} and ${name(other)} is ${name(is)}`, () => assert.deepEqual(mostGeneral(one, other), is));
  }
});

describe("types as values", () => {
  test("types are the same by kind, name and parameters", () => {
    assert.equal(isSameType(listOf(intType), listOf(intType)), true);
    assert.equal(isSameType(listOf(intType), listOf(uintType)), false);
    assert.equal(isSameType(structType("A"), structType("B")), false);
    assert.equal(isSameType(typeOf(intType), typeType), false);
  });

  test("parameters are the same by name, or all are on request", () => {
    assert.equal(isSameType(a, b), false);
    assert.equal(isSameType(listOf(a), listOf(b), true), true);
  });

  test("optionals are seen and opened", () => {
    assert.equal(isOptional(optionalOf(intType)), true);
    assert.equal(isOptional(opaqueType("other", intType)), false);
    assert.equal(withoutOptional(optionalOf(intType)), intType);
    assert.equal(withoutOptional(intType), intType);
  });

  test("a parameter that is missing is dyn", () => {
    assert.equal(param(listOf(intType), 0), intType);
    assert.equal(param(intType, 0), dynType);
  });

  const texts: readonly (readonly [CelType, string])[] = [
    [durationType, "duration"],
    [timestampType, "timestamp"],
    [nullType, "null"],
    [errorType, "!error!"],
    [dynType, "dyn"],
    [mapOf(stringType, listOf(intType)), "map(string, list(int))"],
    [typeOf(listOf(intType)), "type(list(int))"],
    [structType("kubernetes.URL"), "kubernetes.URL"],
  ];
  for (const [type, text] of texts) test(`a type is shown as ${text}`, () => assert.equal(formatType(type), text));

  test("a call is shown with its target in front", () => {
    assert.equal(formatSignature([stringType, intType], false), "(string, int)");
    assert.equal(formatSignature([stringType, intType], true), "string.(int)");
    assert.equal(formatSignature([], false), "()");
    assert.equal(formatSignature([stringType], true), "string.()");
  });
});
