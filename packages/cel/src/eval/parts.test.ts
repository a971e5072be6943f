// SPDX-License-Identifier: Apache-2.0
// An evaluation in parts ends with what the evaluation at once ends with, wherever the parts end.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { showValue } from "../../test/expressions.ts";
import { randomExpressions } from "../../test/random-expressions.ts";
import type { Environment } from "../check/environment.ts";
import { compile, type Outcome, type Program } from "../program.ts";
import { untyped } from "../schema/schema-map.ts";
import { type CelType, intType, listOf, mapOf, stringType } from "../types/types.ts";
import { EntryMap, LazyMap } from "../values/collections.ts";
import type { Value } from "../values/value.ts";
import type { Amounts } from "./evaluation.ts";

const list = listOf(intType);
const env: Environment = {
  variables: new Map<string, CelType>([
    ...["a", "b", "c"].map((name) => [name, intType] as const),
    ...["m", "n", "self"].map((name) => [name, list] as const),
    ["lazy", mapOf(stringType, intType)],
  ]),
  objects: new Map(),
  hasBindings: true,
};
const values = { a: 0n, b: 1n, c: 2n, m: untyped([]), n: untyped([3]), self: untyped([0, 1, 2]) };
const lazyValues: readonly (readonly [string, Value])[] = [
  ["x", 1n],
  ["y", 2n],
];

/** A map whose values become known after some parts. */
class SlowMap extends LazyMap {
  readonly typeName = "slow";
  readonly #map = new EntryMap(lazyValues);
  readonly #left = new Map<Value, number>([
    ["x", 3],
    ["y", 1],
  ]);

  get size(): number {
    return this.#map.size;
  }

  find(key: Value): Value | undefined {
    return this.#map.find(key);
  }

  keys(): Iterable<Value> {
    return this.#map.keys();
  }

  evaluatePart(key: Value): boolean {
    const left = this.#left.get(key) ?? 0;
    this.#left.set(key, left - 1);
    return left > 0;
  }
}

function compiled(text: string): Program {
  const program = compile(text, env);
  return "problem" in program ? assert.fail(program.problem) : program;
}

interface Split {
  readonly outcome: Outcome;
  readonly parts: number;
}

function split(
  program: Program,
  limits: { readonly cost: number; readonly work: number; readonly part: Amounts },
): Split {
  const work = program.evaluating({ ...values, lazy: new SlowMap() }, limits);
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { outcome: part.value, parts };
  }
}

const shown = ({ value, cost, work }: Outcome): unknown => ({ value: showValue(value), cost, work });

const amounts = fc.record({ cost: fc.nat(20), work: fc.nat(20) });
const texts = randomExpressions({ hasBindings: true, leaves: { int: ["lazy.x", "lazy['y']", "lazy.?z.orValue(7)"] } });

test("an evaluation in parts has the value, the error, the cost and the work of the evaluation at once", () => {
  let parts = 0;
  const property = fc.property(texts, amounts, fc.constantFrom(30, 300, 3000), (text, part, cost) => {
    const program = compiled(text);
    const limits = { cost, work: 100_000 };
    const whole = program.evaluate({ ...values, lazy: new EntryMap(lazyValues) }, limits.cost, limits.work);
    for (const amountsOfPart of [{ cost: 0, work: 0 }, part]) {
      const divided = split(program, { ...limits, part: amountsOfPart });
      assert.deepEqual(shown(divided.outcome), shown(whole), text);
      parts += divided.parts;
    }
  });
  fc.assert(property, { numRuns: 1000 });
  assert.ok(parts > 4000, `${parts} parts`);
});
