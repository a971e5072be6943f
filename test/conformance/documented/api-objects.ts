// SPDX-License-Identifier: Apache-2.0
// The rows of "API objects, patches and server-side apply".
import { core, deployment, inGroup, ownWidget, ownWidgets, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Answer, Session } from "../harness/session.ts";
import { withSpec } from "../harness/spec-crd.ts";
import type { DocumentedDifference } from "./documented-difference.ts";

const quiet = { quiet: true };
const tries = 12;

function nested(levels: number): string {
  const free = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  return `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"deep"},"spec":{"free":${free}}}`;
}

/** Asks the same several times, and says whether all answers list the same in the same order. */
async function isOrdered(ask: () => Promise<Answer>, listed: (answer: Answer) => unknown): Promise<string> {
  const seen = new Set<string>();
  for (let attempt = 0; attempt < tries; attempt += 1) seen.add(JSON.stringify(listed(await ask())));
  return seen.size === 1 ? "one order" : "several orders";
}

const managers = ["ada", "bob", "cyd", "dan", "eve", "fay"];

/** An object each of whose fields another manager has applied. */
async function appliedByMany(s: Session): Promise<void> {
  for (const manager of managers) {
    const tags = { [manager]: "1" };
    await s.patch(`${widgets(s, "many")}?fieldManager=${manager}`, "apply", widget("many", { tags }), quiet);
  }
}

async function conflictCauses(s: Session): Promise<string> {
  await appliedByMany(s);
  const tags = Object.fromEntries(managers.map((manager) => [manager, "2"]));
  const path = `${widgets(s, "many")}?fieldManager=newcomer&dryRun=All`;
  const ask = (): Promise<Answer> => s.patch(path, "apply", widget("many", { tags }), quiet);
  return isOrdered(ask, ({ body }) => body.details.causes.map(({ message }: Loose) => message));
}

async function typeErrors(s: Session): Promise<string> {
  const wrong = { size: "a", zones: 1, args: 2, parts: 3, tags: 4 };
  const path = `${widgets(s, "wrong")}?fieldManager=m&dryRun=All`;
  const ask = (): Promise<Answer> => s.patch(path, "apply", widget("wrong", wrong), quiet);
  return isOrdered(ask, ({ body }) => body.message);
}

const large = "9007199254740993";

/** How a large member of a set stands in managedFields after the object was written again. */
async function largeSetMember(s: Session): Promise<string> {
  const set = { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer", format: "int64" } };
  await withSpec(s, { type: "object", properties: { set, other: { type: "string" } } });
  const sent = JSON.stringify(ownWidget(s, "set", {})).replace('"spec":{}', `"spec":{"set":[${large}]}`);
  await s.patch(`${ownWidgets(s, "set")}?fieldManager=one`, "apply", sent, quiet);
  await s.patch(`${ownWidgets(s, "set")}?fieldManager=two`, "merge", { spec: { other: "x" } }, quiet);
  const { text } = await s.get(ownWidgets(s, "set"), quiet);
  return /"v:(\d+)"/.exec(text)?.[1] ?? "none";
}

/** A rule that reads a field which was written as a fraction. */
async function fractionUnderRule(s: Session): Promise<number> {
  const count = { type: "integer", "x-kubernetes-validations": [{ rule: "self == 1" }] };
  await withSpec(s, { type: "object", properties: { count } });
  const sent = JSON.stringify(ownWidget(s, "f", {})).replace('"spec":{}', '"spec":{"count":1.0}');
  return (await s.post(ownWidgets(s), sent, quiet)).code;
}

async function manyInsertions(s: Session): Promise<number> {
  const list = Array.from({ length: 9_000 }, () => 1);
  await s.post(widgets(s), widget("long", { free: { list } }), quiet);
  const patch = Array.from({ length: 9_000 }, () => ({ op: "add", path: "/spec/free/list/0", value: 1 }));
  return (await s.patch(widgets(s, "long"), "json", patch, quiet)).code;
}

async function manyContainers(s: Session): Promise<number> {
  const found = deployment("many");
  const containers = Array.from({ length: 4_097 }, (_, index) => ({ name: `c${index}`, image: "i" }));
  const template = { ...found.spec.template, spec: { ...found.spec.template.spec, containers } };
  const sent = { ...found, spec: { ...found.spec, template } };
  return (await s.post(`${inGroup(s, "apps/v1/deployments")}?dryRun=All`, sent, quiet)).code;
}

async function manyAmounts(s: Session): Promise<number> {
  const found = deployment("many");
  const limits = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`example.org/r${index}`, "1"]));
  const containers = [{ name: "c", image: "i", resources: { limits } }];
  const template = { ...found.spec.template, spec: { ...found.spec.template.spec, containers } };
  const sent = { ...found, spec: { ...found.spec, template } };
  return (await s.post(`${inGroup(s, "apps/v1/deployments")}?dryRun=All`, sent, quiet)).code;
}

async function manyShortNames(s: Session): Promise<number> {
  const shortNames = Array.from({ length: 1_001 }, (_, index) => `s${index}`);
  const schema = { openAPIV3Schema: { type: "object" } };
  const sent = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "shorts.short.example.org" },
    spec: {
      group: "short.example.org",
      scope: "Cluster",
      names: { kind: "Short", plural: "shorts", shortNames },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  return (await s.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", sent, quiet)).code;
}

/** With a short tag that YAML does not define, and with a long one. */
async function unknownTags(s: Session): Promise<string> {
  const codes: number[] = [];
  for (const length of [1, 2_000]) {
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: {a: !${"x".repeat(length)} b}\n`;
    const headers = { "content-type": "application/yaml" };
    codes.push((await s.post(`${core(s, "configmaps")}?dryRun=All`, text, { ...quiet, headers })).code);
  }
  return codes.join(", ");
}

async function orderWithoutMergeKey(s: Session): Promise<string> {
  await s.post(inGroup(s, "apps/v1/deployments"), deployment("d"), quiet);
  const toleration = { key: "a", operator: "Exists" };
  const spec = { "$setElementOrder/tolerations": [toleration], tolerations: [toleration] };
  const patch = { spec: { template: { spec } } };
  try {
    const { code, body } = await s.patch(inGroup(s, "apps/v1/deployments", "d"), "strategic", patch, quiet);
    return `${code} ${String(body.message)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export const apiObjectDifferences: readonly DocumentedDifference[] = [
  {
    topic: "Nesting of objects",
    ours: 400,
    theirs: 201,
    run: async (s) => (await s.post(widgets(s), nested(1_500), quiet)).code,
  },
  { topic: "Causes of an apply conflict", ours: "one order", theirs: "several orders", run: conflictCauses },
  { topic: "Several type errors of one apply", ours: "one order", theirs: "several orders", run: typeErrors },
  {
    topic: "64-bit integers in sets (`v:…` of managedFields)",
    ours: large,
    theirs: "9007199254740992",
    run: largeSetMember,
  },
  { topic: "`1.0` for an integer of a custom object", ours: 201, theirs: 422, run: fractionUnderRule },
  {
    topic: "JSON patch inserting into and removing from lists",
    ours: 422,
    theirs: 200,
    run: manyInsertions,
  },
  {
    topic: "Strategic merge patch with `$setElementOrder` for a list of objects without merge key",
    ours: "500 map: map[key:a operator:Exists] does not contain declared merge key: ",
    theirs: "socket hang up",
    run: orderWithoutMergeKey,
  },
  {
    topic: "Containers, init containers and ephemeral containers of a Pod or a template",
    ours: 422,
    theirs: 201,
    run: manyContainers,
  },
  {
    topic: "Amounts of resources by name in one map, such as `limits` or `capacity`",
    ours: 413,
    theirs: 201,
    run: manyAmounts,
  },
  {
    topic: "Short names of a definition, and its categories",
    ours: 422,
    theirs: 201,
    run: manyShortNames,
  },
  {
    topic: "Tags of a YAML body that YAML does not define",
    ours: "400, 400",
    theirs: "201, 201",
    run: unknownTags,
  },
];
