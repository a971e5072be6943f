// SPDX-License-Identifier: Apache-2.0
// Rows that a real API server prints for objects whose status was written as a kubelet would.
import type { JsonObject, JsonValue } from "../../packages/kube-objects/src/json/index.ts";
import { lines } from "./formats.ts";
import type { Entry, Recording } from "./recording.ts";
import type { ServerClient } from "./server-client.ts";

const pods = "/api/v1/namespaces/default/pods";
const tableOf = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** A value with all its times moved, so that they are as long ago now as they were when it was recorded. */
function moved(value: JsonValue, byMs: number): JsonValue {
  if (typeof value === "string" && time.test(value)) {
    return new Date(Math.round((Date.parse(value) + byMs) / 1000) * 1000).toISOString().replace(".000Z", "Z");
  }
  if (Array.isArray(value)) return value.map((one) => moved(one, byMs));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, moved(one, byMs)]));
}

/** What a server insists on, where the recorded object has only what the row is made of. */
function acceptable(object: JsonObject, name: string): JsonObject {
  const { metadata, spec, ...rest } = object as Record<string, JsonObject>;
  const { deletionTimestamp: _ended, deletionGracePeriodSeconds: _grace, ...kept } = metadata ?? {};
  const named = (all: JsonValue | undefined): JsonValue[] =>
    ((all ?? []) as JsonObject[]).map((one) => ({ image: "i", ...one }));
  const { containers, initContainers, ...others } = spec ?? {};
  const initial = initContainers === undefined ? {} : { initContainers: named(initContainers) };
  return {
    ...rest,
    metadata: { ...kept, name },
    spec: { ...others, automountServiceAccountToken: false, containers: named(containers), ...initial },
  };
}

async function rowOf(client: ServerClient, entry: Entry, index: number): Promise<JsonObject> {
  const { object, now } = entry as { readonly object: JsonObject; readonly now: string };
  const name = `row-${index}`;
  const pod = acceptable(moved(object, Date.now() - Date.parse(now)) as JsonObject, name);
  const isDeleted = (object["metadata"] as JsonObject)["deletionTimestamp"] !== undefined;
  const metadata = { ...(pod["metadata"] as JsonObject), ...(isDeleted && { finalizers: ["example.org/hold"] }) };
  await client.create(pods, { ...pod, metadata });
  const status = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
  await client.json(`${pods}/${name}/status`, { ...status, body: { status: pod["status"] ?? {} } });
  if (isDeleted) await client.send(`${pods}/${name}`, { method: "DELETE", body: { gracePeriodSeconds: 30 } });
  const table = await client.json(`${pods}/${name}`, { headers: tableOf });
  return ((table["rows"] ?? []) as JsonObject[])[0] ?? {};
}

const podRows: Recording = {
  subject: "tables",
  file: "packages/kube-builtin/src/pods/testdata/pod-rows.jsonl",
  ...lines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until("/api/v1/namespaces/default/serviceaccounts/default");
    const all: Entry[] = [];
    for (const [index, entry] of entries.entries()) {
      const row = await rowOf(client, entry, index);
      const cells = (row["cells"] ?? []) as JsonValue[];
      // Name and age differ from run to run.
      const kept = [...cells.slice(1, 4), ...cells.slice(5)];
      const { reason, now, object } = entry;
      all.push({ reason, now, cells: kept, conditions: row["conditions"] ?? [], object } as Entry);
    }
    return all;
  },
};

export const tableRecordings: readonly Recording[] = [podRows];
