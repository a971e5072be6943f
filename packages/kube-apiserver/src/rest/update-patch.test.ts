// SPDX-License-Identifier: Apache-2.0
// Patches end to end: what they may not change, what a result has to be, and in which words a patch is refused.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";
import type { CompleteResponse } from "../request/api-request.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

let server: TestServer;
before(async () => {
  server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

async function patch(url: string, type: keyof typeof types, text: string): Promise<CompleteResponse> {
  const headers = { "content-type": types[type] };
  return (await server.send(url, { method: "PATCH", headers, text })) as CompleteResponse;
}

const objectOf = (response: CompleteResponse): JsonObject => answerValue(response) as JsonObject;

let count = 0;
/** The url of a new object. */
async function made(collection: string): Promise<string> {
  count += 1;
  const metadata = { name: `p${count}` };
  const labels = { app: "p" };
  const spec =
    collection === widgets
      ? { replicas: 1 }
      : {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "c:1" }] } },
        };
  const [group = "", version = ""] = collection === widgets ? ["example.org", "v1"] : ["apps", "v1"];
  const kind = collection === widgets ? "Widget" : "Deployment";
  await server.post(collection, { apiVersion: `${group}/${version}`, kind, metadata, spec });
  return `${collection}/${metadata.name}`;
}

interface Refusal {
  readonly reason: string;
  readonly on?: string;
  readonly type: keyof typeof types;
  readonly patch: string;
  readonly query?: string;
  readonly code: number;
  readonly text: RegExp;
}

const refusals: Record<string, Refusal> = {
  NotJson: {
    reason: "half a patch",
    type: "merge",
    patch: "{",
    code: 400,
    text: /^error decoding patch: unexpected end/,
  },
  NoOperations: {
    reason: "a JSON patch is a list",
    type: "json",
    patch: "{}",
    code: 400,
    text: /^error decoding patch: json: cannot unmarshal object into Go value of type \[\]handlers.jsonPatchOp$/,
  },
  NoObject: {
    reason: "a merge patch is an object",
    type: "merge",
    patch: "[]",
    code: 400,
    text: /^error decoding patch: json: cannot unmarshal array into Go value/,
  },
  TooMany: {
    reason: "a patch has an end",
    type: "json",
    patch: `[${Array(10_001).fill('{"op":"test","path":"/kind","value":"Widget"}').join(",")}]`,
    code: 413,
    text: /The allowed maximum operations in a JSON patch is 10000, got 10001/,
  },
  TestFails: {
    reason: "another client was faster",
    type: "json",
    patch: '[{"op":"test","path":"/spec/replicas","value":2},{"op":"remove","path":"/spec"}]',
    code: 422,
    text: /^the server rejected our request due to an error in our request$/,
  },
  NoPath: {
    reason: "nothing to remove",
    type: "json",
    patch: '[{"op":"remove","path":"/spec/nope"}]',
    code: 422,
    text: /^the server rejected our request due to an error in our request$/,
  },
  ForADifferentKind: {
    reason: "types that have no keys cannot merge by them",
    type: "strategic",
    patch: "{}",
    code: 415,
    text: /accepted media types include: application\/json-patch\+json, application\/merge-patch\+json, application\/apply-patch\+yaml$/,
  },
  Kind: {
    reason: "a kind stays",
    type: "merge",
    patch: '{"kind":"Gadget"}',
    code: 422,
    text: /kind: Invalid value: "Gadget": must be Widget/,
  },
  Version: {
    reason: "a version stays",
    type: "merge",
    patch: '{"apiVersion":"example.org/v9"}',
    code: 422,
    text: /apiVersion: Invalid value: "example.org\/v9": must be example.org\/v1/,
  },
  Name: {
    reason: "a name stays",
    type: "merge",
    patch: '{"metadata":{"name":"other"}}',
    code: 400,
    text: /the name of the object \(other\) does not match/,
  },
  Uid: {
    reason: "a uid stays",
    type: "merge",
    patch: '{"metadata":{"uid":"01234567-89ab-cdef-0123-456789abcdef"}}',
    code: 422,
    text: /metadata.uid: Invalid value: .*: field is immutable/,
  },
  Stale: {
    reason: "made for another state",
    type: "merge",
    patch: '{"metadata":{"resourceVersion":"1"}}',
    code: 409,
    text: /the object has been modified; please apply your changes to the latest version and try again$/,
  },
  NoVersionAtAll: {
    reason: "a version is a number",
    type: "merge",
    patch: '{"metadata":{"resourceVersion":"abc"}}',
    code: 500,
    text: /^strconv.ParseUint: parsing "abc": invalid syntax$/,
  },
  Labels: {
    reason: "the result is checked like any other",
    type: "merge",
    patch: '{"metadata":{"labels":{"a b":"c"}}}',
    code: 422,
    text: /metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters/,
  },
  Schema: {
    reason: "against its schema too",
    type: "json",
    patch: '[{"op":"add","path":"/spec/replicas","value":"many"}]',
    code: 422,
    text: /spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", /,
  },
  Strict: {
    reason: "an unknown field, strictly",
    type: "merge",
    patch: '{"spec":{"nope":1}}',
    query: "?fieldValidation=Strict",
    code: 422,
    text: /patch: Invalid value: .*: strict decoding error: unknown field "spec.nope"$/,
  },
  StrictTwice: {
    reason: "a key that comes twice, strictly",
    type: "merge",
    patch: '{"spec":{"replicas":1,"replicas":2}}',
    query: "?fieldValidation=Strict",
    code: 422,
    text: /strict decoding error: duplicate field "spec.replicas"$/,
  },
  Force: {
    reason: "only an apply can be forced",
    type: "merge",
    patch: "{}",
    query: "?force=true",
    code: 422,
    text: /force: Forbidden: may not be specified for non-apply patch$/,
  },
  DryRun: {
    reason: "all or nothing",
    type: "merge",
    patch: "{}",
    query: "?dryRun=Some",
    code: 422,
    text: /dryRun: Unsupported value: \["Some"\]: supported values: "All"$/,
  },
  TypedText: {
    reason: "a built-in field has its type",
    on: deployments,
    type: "merge",
    patch: '{"spec":{"replicas":"many"}}',
    code: 422,
    text: /json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32$/,
  },
  TypedFraction: {
    reason: "and no text of a fraction is an integer",
    on: deployments,
    type: "json",
    patch: '[{"op":"replace","path":"/spec/replicas","value":1.0}]',
    code: 422,
    text: /replicas\\":1\.0,.*json: cannot unmarshal number 1\.0 into Go struct field DeploymentSpec.spec.replicas of type int32$/,
  },
  Immutable: {
    reason: "a selector stays",
    on: deployments,
    type: "strategic",
    patch: '{"spec":{"selector":{"matchLabels":{"app":"other"}},"template":{"metadata":{"labels":{"app":"other"}}}}}',
    code: 422,
    text: /spec.selector: Invalid value: .*: field is immutable$/,
  },
  Directive: {
    reason: "an unknown directive",
    on: deployments,
    type: "strategic",
    patch: '{"spec":{"$patch":"explode"}}',
    code: 500,
    text: /^unknown patch type: explode in map: map\[\$patch:explode\]$/,
  },
};

for (const [name, row] of Object.entries(refusals)) {
  test(`a patch that is refused: ${name}`, async () => {
    const url = await made(row.on ?? widgets);
    const before = await server.body(url);
    const response = await patch(`${url}${row.query ?? ""}`, row.type, row.patch);
    const { message } = objectOf(response);
    assert.equal(response.code, row.code, `${row.reason}: ${message}`);
    assert.match(String(message), row.text, row.reason);
    assert.deepEqual(await server.body(url), before, "nothing has changed");
  });
}

test("a patch of what is not there makes nothing", async () => {
  for (const type of ["json", "merge"] as const) {
    const response = await patch(`${widgets}/none`, type, type === "json" ? "[]" : "{}");
    assert.deepEqual([response.code, objectOf(response)["message"]], [404, 'widgets.example.org "none" not found']);
  }
});

test("unknown fields give warnings unless fieldValidation is Ignore", async () => {
  const url = await made(widgets);
  const odd = '{"spec":{"nope":1,"replicas":2,"replicas":3}}';
  const warned = await patch(url, "merge", odd);
  assert.deepEqual(warned.warnings, ['duplicate field "spec.replicas"', 'unknown field "spec.nope"']);
  assert.deepEqual(objectOf(warned)["spec"], { replicas: 3, color: "red" }, "the last one counts");
  assert.deepEqual((await patch(`${url}?fieldValidation=Ignore`, "merge", odd)).warnings ?? [], []);
});

test("what makes no difference is not written, and what does counts one generation", async () => {
  const url = await made(widgets);
  const metaOf = (object: JsonObject): JsonObject => object["metadata"] as JsonObject;
  const { resourceVersion, generation } = metaOf(await server.body(url));
  for (const [type, same] of [
    ["merge", '{"spec":{"replicas":1}}'],
    ["json", '[{"op":"replace","path":"/spec/replicas","value":1}]'],
    ["json", "[]"],
  ] as const) {
    assert.equal(metaOf(objectOf(await patch(url, type, same)))["resourceVersion"], resourceVersion, same);
  }
  const labelled = metaOf(objectOf(await patch(url, "merge", '{"metadata":{"labels":{"a":"b"}}}')));
  assert.notEqual(labelled["resourceVersion"], resourceVersion);
  assert.equal(labelled["generation"], generation);
  const scaled = metaOf(objectOf(await patch(url, "merge", '{"spec":{"replicas":2}}')));
  assert.equal(scaled["generation"], Number(generation) + 1);
});

test("the status and the rest are patched apart", async () => {
  const url = await made(widgets);
  const both = '{"spec":{"replicas":7},"status":{"replicas":5}}';
  const status = objectOf(await patch(`${url}/status`, "merge", both));
  assert.deepEqual([status["spec"], status["status"]], [{ replicas: 1, color: "red" }, { replicas: 5 }]);
  const main = objectOf(await patch(url, "merge", '{"spec":{"replicas":7},"status":{"replicas":6}}'));
  assert.deepEqual([main["spec"], main["status"]], [{ replicas: 7, color: "red" }, { replicas: 5 }]);
});

test("a strategic patch changes one container by its name and takes another away", async () => {
  const url = await made(deployments);
  const containersOf = (response: CompleteResponse): string[] => {
    const { spec } = objectOf(response) as unknown as { spec: { template: { spec: { containers: JsonObject[] } } } };
    return spec.template.spec.containers.map(({ name, image }) => `${name}=${image}`);
  };
  const inPod = (containers: string): string => `{"spec":{"template":{"spec":{"containers":${containers}}}}}`;
  const added = await patch(url, "strategic", inPod('[{"name":"d","image":"d:1"},{"name":"c","image":"c:2"}]'));
  assert.deepEqual(containersOf(added).toSorted(), ["c=c:2", "d=d:1"]);
  const less = await patch(url, "strategic", inPod('[{"name":"d","$patch":"delete"}]'));
  assert.deepEqual(containersOf(less), ["c=c:2"]);
});
