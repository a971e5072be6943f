// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { StatusError, type StatusReason } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { OwnerReference } from "@purlin/kube-objects/object";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { type OwnedObject, ownedObject } from "./decide.ts";
import { GarbageCollector } from "./garbage-collector.ts";

const eventually = (t: TestContext, check: () => void): Promise<void> => t.waitFor(check, { timeout: 60_000 });

const keyOf = (name: string): string => `/core/configmaps/ns/${name}`;

const codec = {
  encode: (value: JsonObject): Uint8Array => Buffer.from(JSON.stringify(value)),
  decode: (bytes: Uint8Array): JsonObject => Object.freeze(JSON.parse(Buffer.from(bytes).toString()) as JsonObject),
};

interface Given {
  readonly owners?: readonly Partial<OwnerReference>[];
  readonly finalizers?: readonly string[];
  readonly deleting?: boolean;
}

function configMap(name: string, { owners = [], finalizers = [], deleting = false }: Given = {}): JsonObject {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    uid: owner.name ?? "",
    ...owner,
  }));
  const deletionTimestamp = deleting ? "2026-01-01T00:00:00Z" : undefined;
  const metadata = {
    name,
    namespace: "ns",
    uid: name,
    ownerReferences,
    finalizers,
    ...(deletionTimestamp && { deletionTimestamp }),
  };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: metadata };
}

/** A collector over a real store, whose actions write as simply as can be. */
async function setUp(t: TestContext, before: readonly JsonObject[] = []) {
  const store: Store<JsonObject> = openStore<JsonObject>({ directory: tempDirectory(), codec });
  const put = (object: JsonObject): Promise<unknown> =>
    store.write(keyOf((object["metadata"] as { name: string }).name), () => ({ action: "put", value: object }));
  const remove = (name: string): Promise<unknown> => store.write(keyOf(name), () => ({ action: "delete" }));
  for (const object of before) await put(object);
  const change = (object: OwnedObject, edit: (metadata: Record<string, JsonValue>) => void): Promise<unknown> =>
    store.write(keyOf(object.name), ({ current }) => {
      if (current === undefined) return { action: "keep" };
      const copy = structuredClone(current.value) as { metadata: Record<string, JsonValue> };
      edit(copy.metadata);
      const left = copy.metadata["finalizers"] as string[];
      if (copy.metadata["deletionTimestamp"] && left.length === 0) return { action: "delete" };
      return { action: "put", value: copy };
    });
  const did: string[] = [];
  const errors: unknown[] = [];
  let [refuse, trouble, attempts] = [0, 0, 0];
  let refusal = new Error();
  const collector = new GarbageCollector({
    store,
    onError: (error) => errors.push(error),
    retryDelayMs: 1,
    ownerOf: ({ name, uid }) => {
      if (trouble-- > 0) throw new Error("cannot look");
      const entry = store.get(keyOf(name));
      const owner = entry && ownedObject(entry.value);
      return owner?.uid === uid ? owner : "absent";
    },
    actions: {
      async delete(object, policy) {
        attempts += 1;
        if (refuse-- > 0) throw refusal;
        did.push(`delete ${object.name} ${policy}`);
        await change(object, (metadata) => {
          metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z";
          if (policy === "Foreground") (metadata["finalizers"] as string[]).push("foregroundDeletion");
        });
      },
      async dropOwners(object, uids) {
        did.push(`drop ${uids.join()} from ${object.name}`);
        await change(object, (metadata) => {
          const references = metadata["ownerReferences"] as OwnerReference[];
          metadata["ownerReferences"] = references.filter(({ uid }) => !uids.includes(uid));
        });
      },
      async dropFinalizer(object, finalizer) {
        did.push(`drop ${finalizer} from ${object.name}`);
        await change(object, (metadata) => {
          metadata["finalizers"] = (metadata["finalizers"] as string[]).filter((one) => one !== finalizer);
        });
      },
    },
  });
  t.after(async () => {
    collector.stop();
    await store.close();
  });
  collector.start();
  const names = (): string[] => store.list({ prefix: "/" }).entries.map(({ key }) => key.slice(keyOf("").length));
  const until = (...expected: string[]): Promise<void> => eventually(t, () => assert.deepEqual(names(), expected));
  const refuseNext = (times: number, error: Error = new Error("not now")): void => {
    refuse = times;
    refusal = error;
  };
  const troubleNext = (times: number): number => (trouble = times);
  return { put, remove, until, did, errors, collector, refuseNext, troubleNext, attempts: () => attempts };
}

test("dependents go when their owner has gone, all the way down", async (t) => {
  const { put, remove, until } = await setUp(t);
  await put(configMap("owner"));
  await put(configMap("child", { owners: [{ name: "owner" }] }));
  await put(configMap("grandchild", { owners: [{ name: "child" }] }));
  await put(configMap("stranger"));
  await remove("owner");
  await until("stranger");
});

test("what was left behind before the start is found", async (t) => {
  const { until } = await setUp(t, [configMap("orphan", { owners: [{ name: "gone" }] }), configMap("other")]);
  await until("other");
});

test("a foreground deletion waits for those that block it, from the leaves up", async (t) => {
  const { put, until, did } = await setUp(t);
  const block = { blockOwnerDeletion: true };
  await put(configMap("owner"));
  await put(configMap("child", { owners: [{ name: "owner", ...block }] }));
  await put(configMap("leaf", { owners: [{ name: "child", ...block }] }));
  await put(configMap("owner", { deleting: true, finalizers: ["foregroundDeletion"] }));
  await until();
  assert.deepEqual(did, [
    "delete child Foreground",
    "delete leaf Background",
    "drop foregroundDeletion from child",
    "drop foregroundDeletion from owner",
  ]);
});

test("orphaned dependents stay and lose the reference", async (t) => {
  const { put, until, did } = await setUp(t);
  await put(configMap("owner"));
  await put(configMap("owner2"));
  await put(configMap("child", { owners: [{ name: "owner" }, { name: "owner2" }] }));
  await put(configMap("owner", { deleting: true, finalizers: ["orphan"] }));
  await until("child", "owner2");
  assert.ok(did.includes("drop orphan from owner"));
});

test("an action that fails is reported and retried", async (t) => {
  const { put, remove, until, errors, refuseNext } = await setUp(t);
  await put(configMap("owner"));
  await put(configMap("child", { owners: [{ name: "owner" }] }));
  refuseNext(2);
  await remove("owner");
  await until();
  assert.equal(errors.length, 2);
});

function denial(code: number): StatusError {
  const reason = "This resource is in-use by 1 usage(s)" as StatusReason;
  const message = 'admission webhook "nousages.protection.crossplane.io" denied the request';
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code } as const;
  return new StatusError(status);
}

const denials: Readonly<Record<string, number>> = { "a conflict": 409, "an object that is gone": 404 };
for (const [what, code] of Object.entries(denials)) {
  test(`a delete that a webhook denies with the code of ${what} is reported and tried again`, async (t) => {
    const { put, remove, until, errors, refuseNext } = await setUp(t);
    await put(configMap("owner"));
    await put(configMap("child", { owners: [{ name: "owner" }] }));
    refuseNext(2, denial(code));
    await remove("owner");
    await until();
    // What a Usage protects stays protected: that is reported once.
    assert.equal(errors.length, code === 409 ? 1 : 2);
  });
}

test("a protected object that changes often is retried by one timer, not by one for each change", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { put, refuseNext, attempts } = await setUp(t);
  refuseNext(Number.POSITIVE_INFINITY, denial(409));
  const changes = 20;
  for (let version = 1; version <= changes; version++) {
    const object = configMap("child", { owners: [{ name: "gone" }] });
    await put({ ...object, data: { version: String(version) } });
    while (attempts() < version) await setImmediate();
    t.mock.timers.tick(100);
  }
  const before = attempts();
  for (let second = 0; second < 120; second++) {
    t.mock.timers.tick(1000);
    await setImmediate();
  }
  const retries = attempts() - before;
  assert.ok(retries >= 1 && retries <= 3, `${retries} retries in two minutes`);
});

test("an owner that cannot be looked for is looked for again, and nothing else suffers", async (t) => {
  const { put, until, errors, troubleNext } = await setUp(t);
  troubleNext(2);
  await put(configMap("child", { owners: [{ name: "gone" }] }));
  await until();
  assert.deepEqual(errors.map(String), ["Error: cannot look", "Error: cannot look"]);
});
