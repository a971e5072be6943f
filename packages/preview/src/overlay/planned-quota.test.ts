// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { configMap } from "../../test/overlay-stage.ts";
import type { Overlay } from "./overlay.ts";
import { newEntry, type OverlayEntry } from "./overlay-entry.ts";
import { PlannedQuota } from "./planned-quota.ts";

const quota = (hard: JsonObject, used: JsonObject = {}, name = "q"): KubeObject => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name, namespace: "default" },
  spec: { hard },
  status: { hard, used },
});

interface Plan {
  /** What a list of quotas answers: the quotas, or an error. */
  readonly quotas?: readonly KubeObject[] | Error;
  /** Objects that the preview has deleted. */
  readonly deleted?: readonly KubeObject[];
  readonly entries?: readonly OverlayEntry[];
  readonly isUnknown?: boolean;
}

function planned({ quotas = [], deleted = [], entries = [], isUnknown = false }: Plan): {
  readonly quota: PlannedQuota;
  readonly lists: string[];
  readonly admit: (object: KubeObject) => Promise<boolean>;
} {
  const lists: string[] = [];
  const gone = deleted.map((before) => ({ ...newEntry(before), now: undefined }));
  const overlay = {
    entries: new Map([...gone, ...entries].map((entry, index) => [`${index}`, entry])),
    list: async ({ kind }: KubeObject, { namespace }: { readonly namespace: string }) => {
      lists.push(`${kind} ${namespace}`);
      if (quotas instanceof Error) throw quotas;
      return quotas;
    },
    live: {
      client: {
        mapper: {
          mapping: async (type: KubeObject) => {
            if (isUnknown) throw new NoMatchError(type);
            return { resource: `${type.kind.toLowerCase()}s` };
          },
        },
      },
    },
  };
  const counter = new PlannedQuota(overlay as unknown as Overlay);
  return { quota: counter, lists, admit: (object) => counter.admit(object, undefined) };
}

const exceeded = (name: string, used: number, limit = 2): { readonly message: string } => ({
  message: `configmaps "${name}" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=${used}, limited: configmaps=${limit}`,
});

describe("what is counted", () => {
  test("objects of the whole plan, with those that the server has counted", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "2" }, { configmaps: "1" })] });
    assert.equal(await admit(configMap("a")), true);
    await assert.rejects(admit(configMap("b")), exceeded("b", 2));
  });

  test("an object that is admitted again counts once; a refused one does not count", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "2" })] });
    for (const name of ["a", "a", "b", "a", "b"]) assert.equal(await admit(configMap(name)), true);
    await assert.rejects(admit(configMap("c")), exceeded("c", 2));
    await assert.rejects(admit(configMap("c")), exceeded("c", 2));
  });

  test("an object that the preview deletes makes room", async () => {
    const quotas = [quota({ configmaps: "2" }, { configmaps: "2" })];
    const { admit } = planned({ quotas, deleted: [configMap("old")] });
    assert.equal(await admit(configMap("a")), true);
    await assert.rejects(admit(configMap("b")), exceeded("b", 2));
  });

  const notDeleted: Record<string, Plan> = {
    "an object of another kind": { deleted: [{ ...configMap("old"), kind: "Secret" }] },
    "an object of another namespace": { deleted: [configMap("old", {}, "team")] },
    "an object that still exists": { entries: [newEntry(configMap("old"))] },
    "an object that was never there": { entries: [newEntry(undefined)] },
  };
  for (const [name, plan] of Object.entries(notDeleted)) {
    test(`${name} makes no room`, async () => {
      const { admit } = planned({ quotas: [quota({ configmaps: "2" }, { configmaps: "2" })], ...plan });
      await assert.rejects(admit(configMap("a")), exceeded("a", 2));
    });
  }

  test("kinds are counted apart", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "1", secrets: "1" })] });
    assert.equal(await admit(configMap("a")), true);
    assert.equal(await admit({ ...configMap("a"), kind: "Secret" }), true);
    await assert.rejects(admit(configMap("b")), exceeded("b", 1, 1));
  });

  test("namespaces are counted apart, each with its own quotas", async () => {
    const { admit, lists } = planned({ quotas: [quota({ configmaps: "1" })] });
    assert.equal(await admit(configMap("a", {}, "one")), true);
    assert.equal(await admit(configMap("a", {}, "two")), true);
    assert.deepEqual(lists, ["ResourceQuota one", "ResourceQuota two"]);
  });

  test("every quota of the namespace must have room", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "9" }, {}, "wide"), quota({ configmaps: "0" })] });
    await assert.rejects(admit(configMap("a")), exceeded("a", 0, 0));
  });

  test("writes at the same time do not share the last place", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "1" })] });
    const results = await Promise.allSettled(["a", "b", "c"].map((name) => admit(configMap(name))));
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected"],
    );
  });
});

describe("what is not counted", () => {
  test("an object without a namespace; its quotas are not read", async () => {
    const { admit, lists } = planned({ quotas: new Error("no") });
    assert.equal(await admit({ apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } }), true);
    assert.deepEqual(lists, []);
  });

  test("an object in a namespace without quotas", async () => {
    assert.equal(await planned({}).admit(configMap("a")), true);
  });

  test("a kind that exists only in the preview", async () => {
    const { admit } = planned({ quotas: [quota({ configmaps: "0" })], isUnknown: true });
    assert.equal(await admit(configMap("a")), true);
  });
});

describe("quotas that cannot be read", () => {
  test("a server without quotas has no limit", async () => {
    const { admit } = planned({ quotas: new NoMatchError({ apiVersion: "v1", kind: "ResourceQuota" }) });
    assert.equal(await admit(configMap("a")), true);
  });

  test("the result says when the user may not read them", async () => {
    const { admit } = planned({ quotas: forbidden({ group: "", resource: "resourcequotas" }, "", "no") });
    assert.equal(await admit(configMap("a")), false);
  });

  test("other errors are not hidden", async () => {
    const reset = new Error("reset");
    await assert.rejects(planned({ quotas: reset }).admit(configMap("a")), reset);
  });
});
