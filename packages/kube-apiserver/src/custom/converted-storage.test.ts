// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns } from "@purlin/base";
import type { FieldManager } from "@purlin/kube-objects/apply";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import type { ObjectStorage } from "../strategy/object-strategy.ts";
import { convertedStorage } from "./converted-storage.ts";

const v1 = "x.org/v1";
const v2 = "x.org/v2";
const thing = (apiVersion: string, more: JsonObject = {}): JsonObject =>
  deepFreeze({ apiVersion, kind: "Thing", metadata: { name: "a", resourceVersion: "7" }, ...more }) as JsonObject;

interface Call {
  readonly objects: readonly JsonObject[];
  readonly apiVersion: string;
}

interface Setup {
  readonly storage: ObjectStorage;
  readonly conversion: NonNullable<ObjectStorage["conversion"]>;
  readonly calls: Call[];
}

/** The storage of a kind that is served in v2 and stored in v1, unless said otherwise. */
function setUp(apiVersion = v2, fail?: () => Error | undefined): Setup {
  const calls: Call[] = [];
  type ConvertOwned = (object: JsonObject, apiVersion: string) => JsonObject;
  const storage = convertedStorage({ servesStoredBytes: true } as unknown as ObjectStorage, {
    apiVersion,
    storedApiVersion: v1,
    apiVersions: new Set([v1, v2]),
    converter: {
      async convert(objects, to) {
        calls.push({ objects, apiVersion: to });
        const error = fail?.();
        if (error !== undefined) throw error;
        return objects.map((object) => ({ ...object, apiVersion: to, converted: true, unknown: 1 }));
      },
    },
    // biome-ignore lint/correctness/useYield: in one part
    *read(object) {
      return { ...object, defaulted: true };
    },
    // biome-ignore lint/correctness/useYield: in one part
    *clean({ unknown: _, ...object }) {
      return object;
    },
    fieldManager: (_, convert: ConvertOwned) => ({ convert }) as unknown as FieldManager,
  });
  return { storage, conversion: storage.conversion ?? assert.fail(), calls };
}

test("an object that was not converted cannot be read or written", () => {
  const { storage } = setUp();
  const message = (to: string): object => ({ message: `an object was not converted to ${to} before it was needed` });
  assert.throws(() => storage.toServed(thing(v1)), message(v2));
  assert.throws(() => storage.toStored(thing(v2)), message(v1));
  assert.equal(storage.servesStoredBytes, false);
});

test("stored objects are read, converted together, cleaned, and keep their resourceVersion, which is not sent", async () => {
  const { storage, conversion, calls } = setUp();
  const [one, two, own] = [thing(v1), thing(v1, { n: 2 }), thing(v2)];
  await conversion.servingAll([one, two, own]);
  const metadata = { name: "a", resourceVersion: "7" };
  const base = { apiVersion: v2, kind: "Thing", metadata, defaulted: true };
  assert.deepEqual(storage.toServed(one), { ...base, converted: true });
  assert.deepEqual(storage.toServed(two), { ...base, converted: true, n: 2 });
  assert.deepEqual(storage.toServed(own), base, "an object of the version itself is not converted");
  assert.equal(calls.length, 1);
  assert.deepEqual(
    calls[0]?.objects.map((object) => object["metadata"]),
    [{ name: "a" }, { name: "a" }],
  );
});

test("an object is converted once, also for concurrent readers", async () => {
  const { conversion, calls } = setUp();
  const object = thing(v1);
  await Promise.all([conversion.servingAll([object]), conversion.servingAll([object])]);
  await conversion.servingAll([object]);
  assert.equal(calls.length, 1);
});

test("an object whose conversion failed is converted again", async () => {
  let isBroken = true;
  const { storage, conversion, calls } = setUp(v2, () => (isBroken ? new Error("webhook") : undefined));
  const object = thing(v1);
  await assert.rejects(conversion.servingAll([object]), { message: "webhook" });
  isBroken = false;
  await conversion.servingAll([object]);
  assert.equal(storage.toServed(object)["converted"], true);
  assert.equal(calls.length, 2);
});

test("an object of a version that the kind does not have is an error", async () => {
  await assert.rejects(setUp().conversion.servingAll([thing("x.org/v9")]), {
    message: "request to convert CR from an invalid group/version: x.org/v9",
  });
});

test("an object is stored in the stored version; what is served in it needs no conversion", async () => {
  const { storage, conversion } = setUp();
  const object = thing(v2);
  await conversion.storing(object);
  assert.deepEqual(storage.toStored(object), { ...object, apiVersion: v1, converted: true });
  const same = setUp(v1);
  const own = thing(v1);
  await same.conversion.storing(own);
  assert.equal(same.storage.toStored(own), own);
  assert.equal(same.calls.length, 0);
});

test("an object as it will be served after it was stored goes there and back", async () => {
  const { conversion, calls } = setUp();
  const served = await conversion.stored(thing(v2));
  assert.deepEqual(
    calls.map(({ apiVersion }) => apiVersion),
    [v1, v2],
  );
  assert.deepEqual(served, { ...thing(v2), converted: true, defaulted: true });
});

test("an object of the version that is asked for is not converted, others are as the webhook made them", async () => {
  const { conversion, calls } = setUp();
  const object = thing(v2);
  assert.equal(await conversion.convert(object, v2), object);
  const converted = { ...object, apiVersion: v1, converted: true, unknown: 1 };
  assert.deepEqual(await conversion.convert(object, v1), converted, "with fields that its schema does not have");
  assert.equal(calls.length, 1);
});

/** Asks the field manager of a run for an object in another version. */
const asking = (object: JsonObject, apiVersion: string) =>
  // biome-ignore lint/correctness/useYield: in one part
  function* (manager: FieldManager) {
    const { convert } = manager as unknown as { convert: (one: JsonObject, to: string) => JsonObject };
    return convert(object, apiVersion);
  };

test("work that needs a conversion is repeated once it is known", async () => {
  const { conversion, calls } = setUp();
  let runs = 0;
  const object = thing(v2);
  const result = await inTurns(
    conversion.tracking("", function* (manager) {
      runs += 1;
      const first = yield* asking(object, v1)(manager);
      return [first, yield* asking(object, v1)(manager)];
    }),
  );
  assert.equal(runs, 2);
  assert.equal(calls.length, 1);
  assert.equal(result[0]?.["apiVersion"], v1);
  assert.equal(result[0], result[1]);
});

test("work without a conversion runs once, and its errors are passed on", async () => {
  const { conversion, calls } = setUp();
  const bug = new Error("bug");
  // biome-ignore lint/correctness/useYield: throws at once
  const failing = function* (): Generator<void, never, void> {
    throw bug;
  };
  await assert.rejects(inTurns(conversion.tracking("", failing)), bug);
  assert.equal(calls.length, 0);
});

test("the error of a conversion is thrown where the result was needed", async () => {
  const { conversion } = setUp(v2, () => new Error("webhook"));
  await assert.rejects(inTurns(conversion.tracking("", asking(thing(v2), v1))), { message: "webhook" });
  await assert.rejects(inTurns(conversion.tracking("", asking(thing(v2), "x.org/v9"))), {
    message: "request to convert CR to an invalid group/version: x.org/v9",
  });
});
