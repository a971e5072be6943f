// SPDX-License-Identifier: Apache-2.0
// What an update records: who gains which fields, when, and when nothing is recorded.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { encodeFieldsV1 } from "./fields-v1.ts";
import type { Managers } from "./managers.ts";
import { recordUpdate } from "./record-update.ts";
import { widgetVersions } from "./testdata/widget.ts";

const apiVersion = "example.org/v1";
const untracked: Managers = { owned: new Map(), identities: new Map(), times: new Map(), sources: new Map() };
const widget = (spec: Record<string, JsonValue>, metadata: Record<string, JsonValue> = {}): JsonObject =>
  deepFreeze({ apiVersion, kind: "Widget", metadata: { name: "w", ...metadata }, spec });

interface Update {
  readonly live: JsonObject;
  readonly next: JsonObject;
  readonly managers?: Managers;
  readonly manager?: string;
  readonly always?: boolean;
  readonly second?: number;
}

function update({ live, next, managers = untracked, manager = "me", always = false, second = 0 }: Update): Managers {
  const now = (): Date => new Date(Date.UTC(2030, 0, 1, 0, 0, second));
  const context = { apiVersion, kind: "Widget", versions: widgetVersions, subresource: "", emptyObject: {}, now };
  return finish(recordUpdate(context, { live, next, managers, manager, always }));
}

/** The fields of each manager, and since when. */
function shown({ owned, identities, times }: Managers): unknown {
  const rows = [...owned].map(([key, { set }]) => {
    const { manager = "", operation = "" } = identities.get(key) ?? {};
    return [`${manager}:${operation}`, [encodeFieldsV1(set), times.get(key)?.slice(17, 19)]];
  });
  return Object.fromEntries(rows);
}

describe("an update", () => {
  const first = update({ live: widget({}), next: widget({ replicas: 1, name: "x" }) });

  test("gives the fields that came to the manager, with the time", () => {
    assert.deepEqual(shown(first), { "me:Update": [{ "f:spec": { "f:name": {}, "f:replicas": {} } }, "00"] });
  });

  test("gives the fields that changed to the manager that changed them", () => {
    const [live, next] = [widget({ replicas: 1, name: "x" }), widget({ replicas: 2, name: "x" })];
    const second = update({ live, next, managers: first, manager: "other", second: 5 });
    assert.deepEqual(shown(second), {
      "me:Update": [{ "f:spec": { "f:name": {} } }, "00"],
      "other:Update": [{ "f:spec": { "f:replicas": {} } }, "05"],
    });
  });

  test("adds to what the manager has, and renews its time", () => {
    const [live, next] = [widget({ replicas: 1, name: "x" }), widget({ replicas: 1, name: "x", on: true })];
    assert.deepEqual(shown(update({ live, next, managers: first, second: 7 })), {
      "me:Update": [{ "f:spec": { "f:name": {}, "f:on": {}, "f:replicas": {} } }, "07"],
    });
  });

  test("that only removes fields gives nothing, and keeps the time", () => {
    const [live, next] = [widget({ replicas: 1, name: "x" }), widget({ replicas: 1 })];
    assert.deepEqual(shown(update({ live, next, managers: first, second: 7 })), {
      "me:Update": [{ "f:spec": { "f:replicas": {} } }, "00"],
    });
  });

  test("that changes nothing leaves all entries as they are", () => {
    const live = widget({ replicas: 1, name: "x" });
    assert.deepEqual(shown(update({ live, next: live, managers: first, manager: "other", second: 7 })), shown(first));
  });

  test("never gives the type, the name or what the server sets", () => {
    const next = widget({ replicas: 1 }, { uid: "u", generation: 2, resourceVersion: "5", labels: { a: "1" } });
    assert.deepEqual(shown(update({ live: widget({}), next })), {
      "me:Update": [{ "f:metadata": { "f:labels": { ".": {}, "f:a": {} } }, "f:spec": { "f:replicas": {} } }, "00"],
    });
  });

  test("by a manager without a name is by an unknown one", () => {
    const recorded = update({ live: widget({}), next: widget({ replicas: 1 }), manager: "" });
    assert.deepEqual(Object.keys(shown(recorded) as object), ["unknown:Update"]);
  });
});

describe("an object that has no managers", () => {
  const [live, next] = [widget({ replicas: 1 }, { uid: "u" }), widget({ replicas: 2 }, { uid: "u" })];

  test("stays without them when it exists already", () => {
    assert.equal(update({ live, next }), untracked);
  });

  test("gets one on request", () => {
    assert.deepEqual(Object.keys(shown(update({ live, next, always: true })) as object), ["me:Update"]);
  });

  test("is new while its uid is missing or empty", () => {
    for (const uid of [{}, { uid: "" }, { uid: null }]) {
      const created = update({ live: widget({}, uid), next: widget({ replicas: 2 }, { uid: "u" }) });
      assert.deepEqual(Object.keys(shown(created) as object), ["me:Update"], JSON.stringify(uid));
    }
  });
});

test("an object that is not of its type is an error that names it", () => {
  assert.throws(() => update({ live: widget({}), next: widget({ replicas: "x" }) }), {
    message: `failed to convert new object (/w; ${apiVersion}, Kind=Widget) to smd typed: .spec.replicas: expected numeric (int or float), got string`,
  });
});
