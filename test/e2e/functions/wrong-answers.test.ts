// SPDX-License-Identifier: Apache-2.0
// Functions with invalid responses. Each affects only its own composite resource, deletes nothing, is reported precisely, and recovers as soon
// as the response is valid again.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  create,
  type JsonObject,
  Requirements,
  Resource,
  ResourceSelector,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  Struct,
} from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "../harness/plane.ts";
import { applyCompositions, compositionOf, modernDefinition, namespaceOf } from "./definitions.ts";

const group = "wrong.example.org";
const type = { apiVersion: `${group}/v1`, kind: "Job" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const namespace = "work";

interface Row {
  readonly reason: string;
  /** What goes wrong with an answer that was fine. */
  readonly spoil: (rsp: RunFunctionResponse) => void;
  /** What the Synced condition says. */
  readonly want: RegExp;
  /** What an event says beyond that. */
  readonly event?: RegExp;
}

function add(rsp: RunFunctionResponse, name: string, object: JsonObject): void {
  rsp.desired?.resources.set(name, create(Resource, { resource: Struct.from(object) }));
}

function ask(rsp: RunFunctionResponse, name: string, selector: Partial<ResourceSelector>): void {
  const resources = new Map([[name, create(ResourceSelector, selector)]]);
  rsp.requirements = create(Requirements, { resources });
}

const where = "^cannot compose resources: ";
const unreadable = `${where}cannot unmarshal desired composed resource "extra" from RunFunctionResponse: `;
let asked = 0;

const rows: Readonly<Record<string, Row>> = {
  "a handler that throws": {
    reason: "the SDK makes a fatal result of it",
    spoil: () => {
      throw new Error("no such bucket");
    },
    want: new RegExp(`${where}pipeline step "work" returned a fatal result: no such bucket$`),
  },
  "a fatal result, and everything gone from the desired state": {
    reason: "the desired state of a fatal answer does not count",
    spoil: (rsp) => {
      rsp.desired?.resources.clear();
      response.fatal(rsp, "no more disks");
    },
    want: new RegExp(`${where}pipeline step "work" returned a fatal result: no more disks$`),
  },
  "a message of megabytes": {
    reason: "a status that is too large to store would not be written",
    spoil: (rsp) => void response.fatal(rsp, "x".repeat(4 * 2 ** 20)),
    want: new RegExp(`${where}pipeline step "work" returned a fatal result: x{30000,33000}…$`),
  },
  "a field of the wrong type": {
    reason: "resource and field are named",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, data: { size: 5 } }),
    want: new RegExp(`${where}cannot apply composed resource "extra": .*\\.data\\.size: expected string`),
  },
  "an invalid value": {
    reason: "the others are applied, and the event names resource and field",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, data: { "not a key!": "x" } }),
    want: /^Unsynced resources: extra$/,
    event: /^Warning ComposeResources: cannot apply composed resource "extra": .*data\[not a key!\]: Invalid value/,
  },
  "an unknown kind": {
    reason: "resource, kind and what to do",
    spoil: (rsp) => add(rsp, "extra", { apiVersion: "nowhere.example.org/v1", kind: "Gadget" }),
    want: /"extra" is namespaced \(a Gadget\): no matches for kind "Gadget" in version "nowhere\.example\.org\/v1": install the CRD/,
  },
  "an object without a kind": {
    reason: "what is missing is named",
    spoil: (rsp) => add(rsp, "extra", { apiVersion: "v1" }),
    want: new RegExp(`${unreadable}object has no kind$`),
  },
  "an empty object": {
    reason: "what is missing is named",
    spoil: (rsp) => void rsp.desired?.resources.set("extra", create(Resource)),
    want: new RegExp(`${unreadable}object has no apiVersion$`),
  },
  "metadata that is a text": {
    reason: "the field is named",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, metadata: "mine" }),
    want: new RegExp(`${unreadable}metadata must be an object, not a string$`),
  },
  "a resource without a name": {
    reason: "it could not be found again",
    spoil: (rsp) => add(rsp, "", { ...configMap, data: {} }),
    want: /cannot use a desired composed resource without a name: a ConfigMap has none$/,
  },
  "a name that no object can have": {
    reason: "resource and name",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, metadata: { name: "Not_A_Name" } }),
    want: /"extra" because it has an invalid name "Not_A_Name"\. Must be a valid RFC 1123 subdomain name\.$/,
  },
  "one object under two names": {
    reason: "each apply would undo the other",
    spoil: (rsp) => {
      for (const name of ["one", "two"]) add(rsp, name, { ...configMap, metadata: { name: "same" }, data: { name } });
    },
    want: /composed resources "one" and "two" are the same object \(a ConfigMap named same\): give one of them another/,
  },
  "an object that another owner controls": {
    reason: "the controller is named",
    spoil: (rsp) => {
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u9", controller: true };
      add(rsp, "extra", { ...configMap, metadata: { ownerReferences: [owner] } });
    },
    want: /composed resource "extra": cannot set controller reference: it is already controlled by Pod p \(UID u9\)$/,
  },
  "an object of the whole cluster": {
    reason: "a composite resource in a namespace composes in it",
    spoil: (rsp) => add(rsp, "extra", { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", rules: [] }),
    want: /cannot apply cluster scoped composed resource "extra" \(a ClusterRole\) for a namespaced composite resource/,
  },
  "a status field of the wrong type": {
    reason: "the field is named",
    spoil: (rsp) => response.setDesiredCompositeStatus(rsp, { count: "many" }),
    want: new RegExp(`${where}cannot apply composite resource status: .*\\.status\\.count: expected numeric`),
  },
  "a status that is not an object": {
    reason: "it is not taken for none",
    spoil: (rsp) => {
      if (rsp.desired) rsp.desired.composite = create(Resource, { resource: Struct.from({ status: "fine" }) });
    },
    want: new RegExp(`${where}cannot apply composite resource status: .* a string; it must be an object$`),
  },
  "twenty megabytes": {
    reason: "the limit of an object is named",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, data: { text: "x".repeat(20 * 2 ** 20) } }),
    want: /desired\.resources\["extra"\]\.resource in the function's answer has \d+ bytes \(limit objectBytes=8388608\)/,
  },
  "five megabytes": {
    reason: "no API server takes it, and other composite resources are not affected",
    spoil: (rsp) => add(rsp, "extra", { ...configMap, data: { text: "x".repeat(5 * 2 ** 20) } }),
    // One server judges the object, the other the size of the request.
    want: /^Unsynced resources: extra$|cannot apply composed resource "extra": Request entity too large: limit is 3145728$/,
  },
  "requirements that are never the same": {
    reason: "step, function and what to do",
    spoil: (rsp) => ask(rsp, `answer-${asked++}`, { ...configMap, match: { case: "matchName", value: `n${asked}` } }),
    want: /step "work": Function "worker": requirements didn't stabilize after .* \(5\): the function must return the same requirements/,
  },
  "a requirement of an unknown kind": {
    reason: "step, function, requirement and kind",
    spoil: (rsp) => ask(rsp, "gadgets", { apiVersion: "nowhere.example.org/v1", kind: "Gadget" }),
    want: /step "work": Function "worker": fetching resources for gadgets: no matches for kind "Gadget" .*: install the CRD/,
  },
  "a requirement of a schema that cannot be": {
    reason: "step, function, requirement and what is wrong with it",
    spoil: (rsp) => response.requireSchema(rsp, "gadget", "a/b/c", "Gadget"),
    want: /step "work": Function "worker": fetching schema for gadget: unexpected GroupVersion string: a\/b\/c$/,
  },
};

const nameOf = (index: number): string => `job-${index}`;
const names = Object.keys(rows).map((_, index) => nameOf(index));
/** The composite resources whose function is out of its mind. */
const mad = new Map<string, Row>();

/** A function that is fine: one ConfigMap with the text of the spec. It is asked again every second. */
function worker(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req, { ttl: 1000 });
  const { resource: xr } = request.getObservedCompositeResource(req);
  const map = { ...configMap, data: { text: xr.getString("spec.text") } };
  response.setDesiredComposedResource(rsp, "map", map, { ready: true });
  const { metadata } = xr.toJSON() as { readonly metadata: { readonly name: string } };
  mad.get(metadata.name)?.spoil(rsp);
  return rsp;
}

let plane: Plane;
const mapsBefore = new Map<string, KubeObject>();

const job = (name: string, text: string): KubeObject =>
  ({ ...type, metadata: { namespace, name }, spec: { text } }) as KubeObject;

async function mapOf(name: string): Promise<KubeObject> {
  const labelSelector = `crossplane.io/composite=${name}`;
  const { items } = await plane.users.list(configMap, { namespace, labelSelector });
  return items.find((map) => (map["data"] as JsonObject | undefined)?.["text"] !== undefined) ?? assert.fail(name);
}

const isFine = (one: KubeObject): boolean =>
  conditionOf(one, "Ready")?.status === "True" && conditionOf(one, "Synced")?.status === "True";
const fine = (name: string): Promise<KubeObject> => plane.until(`${name} is fine`, type, { namespace, name }, isFine);

before(async () => {
  plane = await startPlane({ functions: { worker } });
  await plane.apply(
    namespaceOf(namespace),
    modernDefinition({ kind: "Job", group, status: { count: { type: "integer" } } }),
  );
  await applyCompositions(plane, compositionOf("job", type, [{ step: "work", functionRef: { name: "worker" } }]));
  for (const name of [...names, "bystander"]) await plane.apply(job(name, "first"));
  for (const name of [...names, "bystander"]) {
    await fine(name);
    mapsBefore.set(name, await mapOf(name));
  }
  for (const [index, row] of Object.values(rows).entries()) mad.set(nameOf(index), row);
});
after(() => plane[Symbol.asyncDispose]());

describe("while answers are wrong", () => {
  for (const [index, [title, { reason, want, event }]] of Object.entries(rows).entries()) {
    test(`${title}: ${reason}`, async () => {
      const name = nameOf(index);
      const key = { namespace, name };
      const failed = await plane.until(
        "it says so",
        type,
        key,
        (one) => conditionOf(one, "Synced")?.status === "False",
      );
      assert.match(conditionOf(failed, "Synced")?.message ?? "", want);
      await eventually("an event says so", async () =>
        (await plane.events(failed)).some((text) =>
          event === undefined ? text.startsWith("Warning") : event.test(text),
        ),
      );
      assert.deepEqual(await mapOf(name), mapsBefore.get(name), "nothing that was made has changed");
    });
  }

  test("other composite resources are not affected", async () => {
    await plane.apply(job("bystander", "second"));
    await eventually("the bystander continues", async () => {
      return ((await mapOf("bystander"))["data"] as JsonObject)["text"] === "second";
    });
    await fine("bystander");
  });
});

describe("when answers are right again", () => {
  before(() => mad.clear());

  for (const [index, title] of Object.keys(rows).entries()) {
    test(`${title} is forgotten by itself`, async () => {
      const name = nameOf(index);
      await fine(name);
      assert.equal((await mapOf(name)).metadata.uid, mapsBefore.get(name)?.metadata.uid);
      const labelSelector = `crossplane.io/composite=${name}`;
      await eventually("nothing else is left", async () => {
        return (await plane.users.list(configMap, { namespace, labelSelector })).items.length === 1;
      });
    });
  }
});
