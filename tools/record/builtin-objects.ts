// SPDX-License-Identifier: Apache-2.0
// What a real API server answers to new and changed objects: problems, warnings, defaults. Nothing is left behind: new objects are dry runs.
import { type JsonObject, type JsonValue, parseJson } from "../../packages/kube-objects/src/json/index.ts";
import { lines, listOfLines, prettyList } from "./formats.ts";
import { createWidgets, removeWidgets } from "./prepare-server.ts";
import type { Entry, Recording } from "./recording.ts";
import { type Reply, type ServerClient, warningsOf } from "./server-client.ts";

const server = "packages/kube-apiserver/src";
const kinds = "packages/kube-builtin/src";
const defaultAccount = "/api/v1/namespaces/default/serviceaccounts/default";

/** An entry holds the spec of an object, or all of it but its name. */
function dryRun(client: ServerClient, { path, spec, object }: Entry): Promise<Reply> {
  const sent = (object ?? { spec: spec ?? {} }) as JsonObject;
  return client.send(`${path}?dryRun=All`, { method: "POST", body: { metadata: { name: "a" }, ...sent } });
}

/** Asks about each entry and puts the answer behind what was asked. */
async function each(
  entries: readonly Entry[],
  asked: readonly string[],
  answer: (entry: Entry) => Promise<JsonObject>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  for (const entry of entries) {
    const question = Object.fromEntries(Object.entries(entry).filter(([name]) => asked.includes(name)));
    all.push({ ...question, ...(await answer(entry)) });
  }
  return all;
}

/** Go walks maps in random order, so two servers list the same problems in different orders. */
const sortedProblems = (message: unknown): string[] =>
  String(message)
    .split(/, (?=[\w.]+[[.:])|[[\]]/)
    .sort();

const validation: Recording = {
  subject: "validation",
  comparable: (entry) => ({ ...entry, message: sortedProblems(entry["message"]) }),
  file: `${kinds}/testdata/validation.jsonl`,
  ...lines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(defaultAccount);
    return each(entries, ["path", "spec", "object"], async (entry) => {
      const { code, text } = await dryRun(client, entry);
      const message = (parseJson(text) as JsonObject)["message"];
      return { code, ...(code !== 201 && message !== undefined && { message }) };
    });
  },
};

/** Objects get new ones in every run. */
const withoutUid = (text: unknown): string =>
  String(text).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>");

async function remove(client: ServerClient, path: string): Promise<void> {
  const headers = { "content-type": "application/merge-patch+json" };
  await client.send(path, { method: "PATCH", headers, body: { metadata: { finalizers: null } } });
  await client.send(`${path}?gracePeriodSeconds=0&propagationPolicy=Background`, { method: "DELETE" });
}

/** A merge patch of a stored object, after a first status was written. Messages name the objects, which are numbered. */
const changes: Recording = {
  subject: "changes",
  isSequence: true,
  comparable: (entry) => ({ ...entry, message: sortedProblems(withoutUid(entry["message"])) }),
  file: `${kinds}/testdata/changes.jsonl`,
  ...lines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(defaultAccount);
    const headers = { "content-type": "application/merge-patch+json" };
    const patch = (path: string, body: JsonObject): Promise<Reply> =>
      client.send(path, { method: "PATCH", headers, body });
    let index = 0;
    return each(entries, ["path", "object", "first", "endpoint", "change"], async (entry) => {
      const { path, object, first, endpoint, change } = entry as Record<string, JsonObject>;
      const name = `change-${index++}`;
      const at = `${path}/${name}`;
      await client.send(String(path), { method: "POST", body: { metadata: { name }, ...object } });
      if (first !== undefined) await patch(`${at}/status`, { status: first });
      const { code, text } = await patch(endpoint === undefined ? at : `${at}/${endpoint}`, change ?? {});
      await remove(client, at);
      const message = withoutUid((parseJson(text) as JsonObject)["message"]);
      return { code, ...(code !== 200 && { message }) };
    });
  },
};

const warnings: Recording = {
  subject: "warnings",
  file: `${kinds}/testdata/warnings.jsonl`,
  ...lines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(defaultAccount);
    return each(entries, ["path", "spec", "object"], async (entry) => {
      const reply = await dryRun(client, entry);
      return { code: reply.code, warnings: warningsOf(reply) };
    });
  },
};

/** Of some only the defaulted members of the spec are kept. */
function likeRecorded(spec: JsonObject, recorded: JsonValue | undefined): JsonObject {
  if (typeof recorded !== "object" || recorded === null) return spec;
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name in recorded));
}

const crds: Recording = {
  subject: "crds",
  file: `${server}/crd/testdata/real-server.json`,
  ...prettyList,
  answer: async (entries, peers) => {
    const client = await peers.server();
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    return each(entries, ["name", "crd"], async ({ crd, causes: recorded, spec }) => {
      const answer = await client.json(path, { method: "POST", body: crd as JsonObject });
      if (answer["kind"] !== "Status") return { spec: likeRecorded(answer["spec"] as JsonObject, spec) };
      const { causes = [] } = (answer["details"] ?? {}) as JsonObject;
      return { message: answer["message"] ?? "", ...(recorded !== undefined && { causes }) };
    });
  },
};

const allocated = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];

type Members = Record<string, JsonValue>;
const isNoToken = ({ name }: JsonObject): boolean => !String(name).startsWith("kube-api-access-");

const isNoNodeToleration = ({ key }: JsonObject): boolean => !String(key).startsWith("node.kubernetes.io/");

/** Admission adds a priority, tolerations, and a volume with a random name for the token of the service account. */
function removeAdmitted(spec: Members): void {
  delete spec["priority"];
  delete spec["preemptionPolicy"];
  if (spec["tolerations"]) spec["tolerations"] = (spec["tolerations"] as JsonObject[]).filter(isNoNodeToleration);
  const filtered = (owner: Members, member: string): void => {
    const rest = ((owner[member] ?? []) as JsonObject[]).filter(isNoToken);
    if (rest.length > 0) owner[member] = rest;
    else delete owner[member];
  };
  filtered(spec, "volumes");
  for (const name of ["containers", "initContainers", "ephemeralContainers"]) {
    for (const container of (spec[name] ?? []) as Members[]) filtered(container, "volumeMounts");
  }
}

/** A stored object without what the server allocates or derives from the name of the object. */
function withoutAllocated(object: JsonObject): JsonObject {
  const copy = structuredClone(object) as Record<string, Record<string, JsonValue>>;
  const { name, labels } = copy["metadata"] ?? {};
  copy["metadata"] = { ...(name !== undefined && { name }), ...(labels !== undefined && { labels }) };
  delete copy["status"];
  const kind = object["kind"];
  if (kind === "CustomResourceDefinition" || kind === "Namespace") delete copy["spec"];
  const spec = copy["spec"] as Members | undefined;
  if (kind === "Service") {
    for (const member of allocated) delete spec?.[member];
    for (const port of (spec?.["ports"] ?? []) as JsonObject[]) delete (port as Members)["nodePort"];
  }
  if (kind === "Pod" && spec !== undefined) removeAdmitted(spec);
  if (kind === "Job") {
    delete ((spec?.["template"] ?? {}) as Members)["metadata"];
    delete spec?.["selector"];
    delete copy["metadata"]["labels"];
  }
  return copy as unknown as JsonObject;
}

const defaults: Recording = {
  subject: "defaults",
  file: `${kinds}/defaults/testdata/real-server.json`,
  ...prettyList,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(defaultAccount);
    return each(entries, ["given"], async ({ given }) => {
      const object = given as JsonObject;
      const path = await client.collection(object);
      const created = await client.json(`${path}?dryRun=All`, { method: "POST", body: object });
      const { name } = object["metadata"] as JsonObject;
      const stored = created["reason"] === "AlreadyExists" ? await client.json(`${path}/${name}`) : created;
      return { stored: withoutAllocated(stored) };
    });
  },
};

/** The message of the reader alone, without what it was asked to read. */
const problemOf = (message: string): string =>
  message.replace(/^\w+ in version "\w+" cannot be handled as an? \w+: /, "");

const decoding: Recording = {
  subject: "decoding",
  file: "packages/kube-objects/src/typed/testdata/decoding-problems.json",
  ...listOfLines,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until(defaultAccount);
    await createWidgets(client, "example.org");
    const answers = await each(entries, ["object"], async ({ object }) => {
      const path = await client.collection(object as JsonObject);
      const answer = await client.json(`${path}?dryRun=All`, { method: "POST", body: object as JsonObject });
      // Other codes come from later checks: the object could be read.
      if (answer["kind"] === "Status") {
        return answer["code"] === 400 ? { problem: problemOf(String(answer["message"])) } : {};
      }
      const written = answer["data"] ?? answer["spec"];
      return written === undefined ? {} : { written };
    });
    await removeWidgets(client, "example.org");
    return answers;
  },
};

export const builtinRecordings: readonly Recording[] = [validation, changes, warnings, crds, defaults, decoding];
