// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { inOnePart } from "@purlin/base";
import { conflict, tooManyRequests } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, type TestRequest, testRequest, textOf } from "../../test/test-server.ts";
import { adminAuthorizer } from "../auth/authorizer.ts";
import { anonymous } from "../auth/user.ts";
import { type CompleteResponse, textPayload } from "../request/api-request.ts";
import { StoreError } from "../store/store-error.ts";
import { createHandler } from "./handler.ts";

const boom = new Error("the password is hunter2");
const failures: Record<string, () => Error> = {
  conflict: () => conflict({ group: "", resource: "pods" }, "x", "it moved"),
  wrapped: () => new Error("while writing", { cause: conflict({ group: "", resource: "pods" }, "x", "it moved") }),
  busy: () => tooManyRequests("later", 7),
  disk: () => new StoreError("unavailable", "the disk is full"),
  bug: () => boom,
};

const unexpected: unknown[] = [];
const handle = createHandler({
  authorizing: inOnePart(adminAuthorizer),
  paths: [
    ({ path }) =>
      ["/known", "/healthz", "/version", "/apis/apps/v1"].includes(path)
        ? { kind: "complete", code: 200, payload: textPayload("known") }
        : undefined,
  ],
  resources: async (_request, { resource, name }) => {
    const fail = failures[name];
    if (fail !== undefined) throw fail();
    if (name === "never") return new Promise<never>(() => {});
    return resource === "pods" ? { kind: "complete", code: 200, payload: textPayload("pods") } : undefined;
  },
  isBuiltinPath: (path) => path.startsWith("/apis/apps/"),
  onUnexpected: (error) => unexpected.push(error),
});

const send = async (url: string, options: TestRequest = {}): Promise<CompleteResponse> =>
  (await handle(testRequest(url, options))) as CompleteResponse;

const cases: Record<
  string,
  { reason: string; url: string; options?: TestRequest; code: number; text: string | RegExp }
> = {
  Resource: { reason: "a resource", url: "/api/v1/pods", code: 200, text: "pods" },
  Path: { reason: "a path", url: "/known", code: 200, text: "known" },
  UnknownResource: {
    reason: "in the reference's words",
    url: "/api/v1/unknown",
    code: 404,
    text: "404 page not found\n",
  },
  UnknownBuiltin: {
    reason: "below a group of our own a Status",
    url: "/apis/apps/v7",
    code: 404,
    text: /could not find the requested resource/,
  },
  UnknownPath: { reason: "in the reference's words", url: "/unknown", code: 404, text: "404 page not found\n" },
  Method: { reason: "most paths answer anyhow", url: "/known", options: { method: "POST" }, code: 200, text: "known" },
  StrictMethod: {
    reason: "some are for reading only",
    url: "/version",
    options: { method: "POST" },
    code: 405,
    text: /does not allow this method/,
  },
  StrictForm: {
    reason: "and have media types",
    url: "/version",
    options: { headers: { accept: "application/yaml" } },
    code: 406,
    text: /Available representations: application\/json/,
  },
  BuiltinForm: {
    reason: "as the groups of the server do",
    url: "/apis/apps/v1",
    options: { headers: { accept: "text/html" } },
    code: 406,
    text: /Available representations: application\/json, application\/yaml"/,
  },
  Anonymous: {
    reason: "health is public",
    url: "/healthz",
    options: { user: anonymous },
    code: 200,
    text: "known",
  },
  Denied: {
    reason: "nothing else is",
    url: "/api/v1/pods",
    options: { user: anonymous },
    code: 403,
    text: /User \\"system:anonymous\\" cannot list resource/,
  },
  DeniedUnknown: {
    reason: "anonymous users get no information about what exists",
    url: "/unknown",
    options: { user: anonymous },
    code: 403,
    text: /cannot get path/,
  },
  Impersonated: {
    reason: "judged as the other user",
    url: "/api/v1/pods",
    options: { headers: { "impersonate-user": "bob" } },
    code: 403,
    text: /User \\"bob\\" cannot list/,
  },
  Conflict: { reason: "a Status", url: "/api/v1/pods/conflict", code: 409, text: /it moved/ },
  Wrapped: { reason: "the Status inside", url: "/api/v1/pods/wrapped", code: 409, text: /"reason":"Conflict"/ },
  InTime: { reason: "most answers are", url: "/api/v1/pods?timeout=30s", code: 200, text: "pods" },
  TooLate: {
    reason: "not this one",
    url: "/api/v1/pods/never?timeout=5ms",
    code: 504,
    text: /within the allotted timeout/,
  },
  NoTimeout: { reason: "no duration", url: "/api/v1/pods?timeout=5", code: 400, text: /missing unit in duration/ },
  WatchTimeout: {
    reason: "a watch lasts as long as it likes",
    url: "/api/v1/pods?watch=1&timeout=1ns",
    code: 200,
    text: "pods",
  },
  Disk: { reason: "the store says why", url: "/api/v1/pods/disk", code: 503, text: /the disk is full/ },
};

for (const [name, { reason, url, options, code, text }] of Object.entries(cases)) {
  test(`handle: ${name}`, async () => {
    const response = await send(url, options);
    assert.equal(response.code, code, reason);
    if (typeof text === "string") {
      assert.equal(textOf(response), text, reason);
    } else {
      assert.match(textOf(response), text, reason);
    }
    assert.deepEqual(unexpected, [], reason);
  });
}

test("a delay is a header too", async () => {
  const { code, headers } = await send("/api/v1/pods/busy");
  assert.deepEqual([code, headers?.["retry-after"]], [429, "7"]);
});

test("an internal error has a generic response, and a report with all details", async () => {
  const response = await send("/api/v1/pods/bug");
  const status = answerValue(response) as JsonObject;
  assert.deepEqual([response.code, status["reason"]], [500, "InternalError"]);
  assert.doesNotMatch(textOf(response), /hunter2/);
  assert.equal(unexpected.pop(), boom);
});

test("failures come in the form that was asked for", async () => {
  const yaml = await send("/api/v1/pods/conflict", { headers: { accept: "application/yaml" } });
  assert.equal(yaml.payload?.contentType, "application/yaml");
  assert.match(textOf(yaml), /^kind: Status$/m);
});

test("a denied request is reported, with a way to ask whether it would be denied still", async () => {
  let allowed = false;
  const denied: { readonly text: string; readonly isAllowed: () => boolean }[] = [];
  const authorizer = () => ({ allowed, reason: "" });
  const guarded = createHandler({
    authorizing: inOnePart(authorizer),
    paths: [],
    resources: async () => ({ kind: "complete", code: 200, payload: textPayload("pods") }),
    isBuiltinPath: () => false,
    onUnexpected: () => {},
    onDenied: (user, message, isAllowed) => denied.push({ text: `${user}: ${message}`, isAllowed }),
  });
  const code = async (): Promise<number> => ((await guarded(testRequest("/api/v1/pods"))) as CompleteResponse).code;
  assert.equal(await code(), 403);
  assert.match(denied[0]?.text ?? "", /: pods is forbidden: User /);
  assert.equal(denied[0]?.isAllowed(), false);
  allowed = true;
  assert.deepEqual([denied[0]?.isAllowed(), await code(), denied.length], [true, 200, 1]);
});
