// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { testRequest } from "../../test/test-server.ts";
import type { AccessAttributes } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import {
  type ApiRequest,
  type CompleteResponse,
  documentPayload,
  type StreamResponse,
} from "../request/api-request.ts";
import { createAudit } from "./audit.ts";
import { parseAuditPolicy } from "./audit-policy.ts";

const jane: User = { name: "jane", uid: "7", groups: ["dev"], extra: { scope: ["a"] } };
const access: AccessAttributes = {
  ...{ kind: "resource", verb: "create", group: "apps", version: "v1", resource: "deployments" },
  ...{ subresource: "", namespace: "ns", name: "" },
};

type Record = NonNullable<ReturnType<ReturnType<typeof createAudit>>>;

interface Logged {
  readonly record: Record;
  readonly events: JsonObject[];
  readonly lines: string[];
}

interface Options {
  readonly rule?: JsonObject;
  readonly user?: User | undefined;
  readonly of?: AccessAttributes;
  readonly request?: Partial<ApiRequest>;
}

function begun(level: string, { rule = {}, of = access, request = {}, ...options }: Options = {}): Logged {
  const lines: string[] = [];
  const events: JsonObject[] = [];
  const policy = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: [{ level, ...rule }],
  } as never);
  const begin = createAudit({
    policy,
    write: (line) => {
      lines.push(line);
      events.push(JSON.parse(line) as JsonObject);
    },
  });
  const user = "user" in options ? options.user : jane;
  const record = begin({ ...testRequest("/apis/apps/v1/namespaces/ns/deployments?dryRun=All"), ...request }, user, of);
  return { record: record ?? assert.fail("not logged"), events, lines };
}

const complete = (value: JsonObject, code = 201): CompleteResponse => ({
  kind: "complete",
  code,
  payload: documentPayload(value, { mediaType: "application/json" }),
});
const lastOf = ({ events }: Logged): JsonObject => events.at(-1) ?? assert.fail("no event");

test("a request that the policy does not log has no record", () => {
  const policy = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: [{ level: "None" }],
  } as never);
  const begin = createAudit({ policy, write: () => assert.fail("written") });
  assert.equal(begin(testRequest("/x"), jane, access), undefined);
});

test("an event has the request, its user and its object, in the order of the reference", () => {
  const origin = { auditId: "id-1", uri: "/x?a=%20b", address: "192.0.2.1" };
  const { events, lines } = begun("Metadata", { request: { origin, headers: { "user-agent": "<kubectl>" } } });
  const [{ requestReceivedTimestamp, stageTimestamp, ...event } = assert.fail()] = events;
  assert.deepEqual(Object.entries(event), [
    ["kind", "Event"],
    ["apiVersion", "audit.k8s.io/v1"],
    ["level", "Metadata"],
    ["auditID", "id-1"],
    ["stage", "RequestReceived"],
    ["requestURI", "/x?a=%20b"],
    ["verb", "create"],
    ["user", { username: "jane", uid: "7", groups: ["dev"], extra: { scope: ["a"] } }],
    ["sourceIPs", ["192.0.2.1"]],
    ["userAgent", "<kubectl>"],
    ["objectRef", { resource: "deployments", namespace: "ns", apiGroup: "apps", apiVersion: "v1" }],
  ]);
  assert.match(String(requestReceivedTimestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.equal(stageTimestamp, requestReceivedTimestamp);
  assert.ok(lines[0]?.endsWith("}\n") && lines[0].includes('"\\u003ckubectl\\u003e"'));
});

test("a request of this process has an id of its own and its path", () => {
  const [event = assert.fail()] = begun("Metadata").events;
  assert.match(String(event["auditID"]), /^[0-9a-f-]{36}$/);
  assert.equal(event["requestURI"], "/apis/apps/v1/namespaces/ns/deployments?dryRun=All");
  assert.ok(!("sourceIPs" in event) && !("userAgent" in event));
  assert.equal(begun("Metadata", { request: testRequest("/x") }).events[0]?.["requestURI"], "/x");
});

test("a request without valid credentials has an empty user, one for a path has no object", () => {
  const [event = assert.fail()] = begun("Metadata", {
    user: undefined,
    of: { kind: "path", verb: "get", path: "/x" },
  }).events;
  assert.deepEqual(event["user"], {});
  assert.ok(!("objectRef" in event));
});

test("what the URL leaves open is taken from the object", async () => {
  const logged = begun("Metadata");
  logged.record.requested({ metadata: { name: "web", namespace: "other", uid: "u", resourceVersion: "3" } });
  await logged.record.completed(complete({}));
  assert.deepEqual(lastOf(logged)["objectRef"], {
    ...{ resource: "deployments", namespace: "ns", name: "web", uid: "u" },
    ...{ apiGroup: "apps", apiVersion: "v1", resourceVersion: "3" },
  });
  assert.ok(!("requestObject" in lastOf(logged)), "the level Metadata has no bodies");
});

const object = { kind: "Deployment", metadata: { name: "web", managedFields: [{ manager: "m" }] } };

test("the level Request has the body of the request, RequestResponse that of the response too", async () => {
  for (const [level, members] of [
    ["Metadata", []],
    ["Request", ["requestObject"]],
    ["RequestResponse", ["requestObject", "responseObject"]],
  ] as const) {
    const logged = begun(level);
    logged.record.requested(object);
    await logged.record.completed(complete(object));
    const event = lastOf(logged);
    assert.deepEqual(
      Object.keys(event).filter((key) => key.endsWith("Object")),
      members,
      level,
    );
    for (const member of members) assert.deepEqual(event[member], object);
    assert.deepEqual(event["responseStatus"], { metadata: {}, code: 201 });
  }
});

test("a body that is not an object, such as a patch, is logged without its metadata being read", async () => {
  const logged = begun("Request");
  logged.record.requestedWith([{ op: "remove", path: "/a" }]);
  await logged.record.completed(complete({}));
  assert.deepEqual(lastOf(logged)["requestObject"], [{ op: "remove", path: "/a" }]);
});

test("managed fields can be left out, of objects and of the items of lists", async () => {
  const logged = begun("RequestResponse", { rule: { omitManagedFields: true } });
  logged.record.requested(object);
  await logged.record.completed(complete({ kind: "List", metadata: {}, items: [object, object] }));
  const bare = { kind: "Deployment", metadata: { name: "web" } };
  assert.deepEqual(lastOf(logged)["requestObject"], bare);
  assert.deepEqual(lastOf(logged)["responseObject"], { kind: "List", metadata: {}, items: [bare, bare] });
  assert.equal(object.metadata.managedFields.length, 1, "the object itself is not changed");
});

test("the Status of a refusal is part of the event, at each level", async () => {
  const { status } = notFound({ group: "", resource: "pods" }, "a");
  for (const level of ["Metadata", "RequestResponse"]) {
    const logged = begun(level);
    await logged.record.completed(complete({ ...status }, 404));
    const { kind: _, apiVersion: __, ...rest } = status;
    assert.deepEqual(lastOf(logged)["responseStatus"], rest, level);
  }
});

test("the bytes of a logged response are made once", async () => {
  const { record } = begun("RequestResponse");
  let made = 0;
  const payload = {
    contentType: "application/json",
    chunks: () => {
      made += 1;
      return [Buffer.from('{"a":1}')];
    },
    value: () => ({ a: 1 }),
  };
  const sent = await record.completed({ kind: "complete", code: 200, payload });
  assert.ok(sent.kind === "complete");
  assert.equal(Buffer.concat(sent.payload?.chunks() ?? []).toString(), '{"a":1}');
  assert.equal(made, 1);
});

test("the first value of an annotation counts, and annotations are sorted", async () => {
  const logged = begun("Metadata");
  logged.record.annotate("z", "1");
  logged.record.decided({ allowed: true, reason: "RBAC: allowed" });
  logged.record.decided({ allowed: false, reason: "" });
  logged.record.annotate("patch", "x", { isBody: true });
  await logged.record.completed(complete({}));
  assert.deepEqual(Object.entries(lastOf(logged)["annotations"] as JsonObject), [
    ["authorization.k8s.io/decision", "allow"],
    ["authorization.k8s.io/reason", "RBAC: allowed"],
    ["z", "1"],
  ]);
  const whole = begun("Request");
  whole.record.annotate("patch", "x", { isBody: true });
  await whole.record.completed(complete({}));
  assert.deepEqual(lastOf(whole)["annotations"], { patch: "x" });
});

test("annotations cost a time that grows with their number", async () => {
  const logged = begun("Metadata");
  const before = process.cpuUsage();
  for (let i = 0; i < 20_000; i++) logged.record.annotate(`hook.example.org/${i}`, "x");
  const { user } = process.cpuUsage(before);
  // A copy of all others for each of them takes minutes.
  assert.ok(user < 1_000_000, `${user / 1000} ms of CPU`);
  await logged.record.completed(complete({ kind: "Deployment" }));
  assert.equal(Object.keys(lastOf(logged)["annotations"] as JsonObject).length, 20_000);
});

test("the user that a request is made as is logged beside its own", async () => {
  const logged = begun("Metadata");
  logged.record.impersonates({ name: "eve", groups: [] }, "impersonate:user-info");
  await logged.record.completed(complete({}));
  assert.deepEqual(lastOf(logged)["impersonatedUser"], { username: "eve" });
  assert.deepEqual(lastOf(logged)["authenticationMetadata"], { impersonationConstraint: "impersonate:user-info" });
});

const stages = ({ events }: Logged): unknown[] => events.map((event) => event["stage"]);

test("stages that the policy leaves out are not written", async () => {
  const logged = begun("Metadata", { rule: { omitStages: ["RequestReceived"] } });
  await logged.record.completed(complete({}));
  assert.deepEqual(stages(logged), ["ResponseComplete"]);
});

test("a stream has an event when it starts and one when it ends, once", async () => {
  const logged = begun("Metadata");
  let left = 1;
  let closed = 0;
  const stream: StreamResponse = {
    kind: "stream",
    code: 200,
    contentType: "application/json",
    open: () => ({ take: () => (left-- > 0 ? [] : undefined), close: () => closed++ }),
  };
  const sent = await logged.record.completed(stream);
  assert.deepEqual(stages(logged), ["RequestReceived", "ResponseStarted"]);
  assert.ok(sent.kind === "stream");
  const opened = sent.open(() => {});
  assert.deepEqual(opened.take(), []);
  assert.equal(stages(logged).length, 2);
  assert.equal(opened.take(), undefined);
  opened.close();
  assert.deepEqual(stages(logged), ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
  assert.equal(closed, 1);
  assert.deepEqual(lastOf(logged)["responseStatus"], { metadata: {}, code: 200 });
});

test("a request with invalid credentials ends with ResponseStarted", () => {
  const logged = begun("Metadata", { user: undefined });
  logged.record.rejected(complete({ kind: "Status", message: "Unauthorized" }, 401));
  assert.deepEqual(stages(logged), ["RequestReceived", "ResponseStarted"]);
  assert.deepEqual(lastOf(logged)["responseStatus"], { metadata: {}, message: "Unauthorized", code: 401 });
});
