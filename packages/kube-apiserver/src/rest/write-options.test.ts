// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { testRequest } from "../../test/test-server.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { RestRequest } from "./rest-context.ts";
import {
  deleteOptionsOf,
  patchOptions,
  readDeleteOptions,
  validationWarnings,
  writeOptions,
  writeWarnings,
} from "./write-options.ts";

const requestFor = (query: string, headers: Record<string, string> = {}): ApiRequest =>
  testRequest(`/x?${query}`, { headers });

test("a write without options warns about unknown fields and is stored", () => {
  assert.deepEqual(writeOptions(requestFor(""), "CreateOptions"), {
    dryRun: false,
    manager: "",
    fieldValidation: "Warn",
  });
});

test("the options of a write are read from its query", () => {
  const query = "dryRun=All&fieldManager=me&fieldValidation=Strict";
  assert.deepEqual(writeOptions(requestFor(query, { "user-agent": "kubectl/1" }), "CreateOptions"), {
    dryRun: true,
    manager: "me",
    fieldValidation: "Strict",
  });
});

test("the manager is the beginning of the user agent where none is named", () => {
  assert.equal(
    writeOptions(requestFor("", { "user-agent": "kubectl/v1.30 (linux)" }), "UpdateOptions").manager,
    "kubectl",
  );
});

test("all errors of options are reported together, in the name of their kind", () => {
  const query = `dryRun=Some&fieldManager=${"x".repeat(129)}&fieldValidation=Sometimes`;
  const details = [
    "fieldManager: Too long: may not be more than 128 bytes",
    'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    'fieldValidation: Unsupported value: "Sometimes": supported values: "", "Ignore", "Strict", "Warn"',
  ];
  for (const kind of ["CreateOptions", "UpdateOptions"] as const) {
    assert.throws(
      () => writeOptions(requestFor(query), kind),
      (error: Error) => {
        assert.ok(error.message.startsWith(`${kind}.meta.k8s.io "" is invalid: [`), error.message);
        for (const detail of details) assert.ok(error.message.includes(detail), error.message);
        return true;
      },
    );
  }
});

test("force belongs to an apply, which needs a manager", () => {
  assert.equal(patchOptions(requestFor("force=true&fieldManager=me"), true).force, true);
  assert.equal(patchOptions(requestFor("fieldManager=me"), true).force, false);
  assert.throws(() => patchOptions(requestFor("force=true"), false), {
    message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  });
  assert.throws(() => patchOptions(requestFor(""), true), {
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  });
  assert.equal(patchOptions(requestFor(""), false).manager, "");
});

/** A request for a kind whose validator warns with its name. */
function restOf(
  more: { readonly custom?: boolean; readonly subresource?: string; readonly orphans?: boolean } = {},
): RestRequest {
  return {
    type: { custom: more.custom ?? false, rules: { orphansByDefault: more.orphans ?? false } },
    target: { subresource: more.subresource ?? "" },
    strategy: { validator: { warnings: ({ endpoint }: { endpoint: string }) => [`of the kind at "${endpoint}"`] } },
    notes: [],
  } as unknown as RestRequest;
}

const withFinalizers = (...finalizers: string[]): JsonObject => ({ metadata: { finalizers } });

test("finalizers that are added to custom objects should have a domain", () => {
  const advice = "to avoid accidental conflicts with other finalizer writers";
  const object = withFinalizers("b", "a.org", "a.org", "x.org/y", "orphan", "foregroundDeletion", "kubernetes", "old");
  assert.deepEqual(writeWarnings(restOf({ custom: true }), object, withFinalizers("old")), [
    `metadata.finalizers: "a.org": prefer a domain-qualified finalizer name including a path (/) ${advice}`,
    `metadata.finalizers: "b": prefer a domain-qualified finalizer name ${advice}`,
  ]);
  assert.equal(writeWarnings(restOf({ custom: true }), withFinalizers("a"), undefined).length, 1);
  assert.deepEqual(writeWarnings(restOf({ custom: true }), {}, undefined), []);
});

test("warnings of other kinds are those of the kind, at the endpoint of the write", () => {
  assert.deepEqual(writeWarnings(restOf(), withFinalizers("a"), undefined), ['of the kind at ""']);
  assert.deepEqual(writeWarnings(restOf({ subresource: "status" }), {}, {}), ['of the kind at "status"']);
  assert.deepEqual(writeWarnings(restOf({ subresource: "other" }), {}, {}), ['of the kind at ""']);
});

test("validation itself warns about custom objects only", () => {
  const change = { object: {}, old: undefined, endpoint: "" } as const;
  assert.deepEqual(validationWarnings(restOf({ custom: true }), change), ['of the kind at ""']);
  assert.deepEqual(validationWarnings(restOf(), change), []);
});

async function deletion(
  { query = "", body, orphans = false }: { query?: string; body?: JsonValue; orphans?: boolean },
  audited: JsonValue[] = [],
): Promise<{ readonly options: object; readonly notes: readonly string[] }> {
  const request = testRequest(`/x?${query}`, { method: "DELETE", ...(body !== undefined && { body }) });
  const audit = { requestedWith: (value: JsonValue) => audited.push(value) } as unknown as ApiRequest["audit"];
  const rest = { ...restOf({ orphans }), request: { ...request, audit } } as RestRequest;
  return { options: await readDeleteOptions(rest), notes: rest.notes };
}

const noOptions = {
  dryRun: false,
  propagation: undefined,
  orphanDependents: undefined,
  gracePeriodSeconds: undefined,
  uid: undefined,
  resourceVersion: undefined,
};

test("a deletion without options has none", async () => {
  assert.deepEqual(await deletion({}), { options: noOptions, notes: [] });
});

test("the options of a deletion are read from the query where it has no body", async () => {
  const query = "dryRun=All&propagationPolicy=Orphan&gracePeriodSeconds=5";
  assert.deepEqual((await deletion({ query })).options, {
    ...noOptions,
    dryRun: true,
    propagation: "Orphan",
    gracePeriodSeconds: 5,
  });
  assert.deepEqual((await deletion({ query: "orphanDependents=true" })).options, {
    ...noOptions,
    orphanDependents: true,
  });
});

test("a body replaces the query, and is audited", async () => {
  const audited: JsonValue[] = [];
  const body = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    dryRun: ["All"],
    propagationPolicy: "Foreground",
    gracePeriodSeconds: 0,
    preconditions: { uid: "u", resourceVersion: "7" },
  };
  const { options } = await deletion({ query: "propagationPolicy=Orphan", body }, audited);
  assert.deepEqual(options, {
    dryRun: true,
    propagation: "Foreground",
    orphanDependents: undefined,
    gracePeriodSeconds: 0,
    uid: "u",
    resourceVersion: "7",
  });
  assert.deepEqual(audited, [{ ...body, apiVersion: "meta.k8s.io/__internal" }]);
  assert.deepEqual((await deletion({ body: {} })).options, noOptions);
  assert.deepEqual((await deletion({ body: null })).options, noOptions);
});

const refusals: readonly (readonly [string, JsonValue, string])[] = [
  [
    "both ways to orphan",
    { orphanDependents: true, propagationPolicy: "Orphan" },
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
  ],
  [
    "an unknown policy",
    { propagationPolicy: "Later" },
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan", "nil"',
  ],
  [
    "an unknown dry run",
    { dryRun: ["Some"] },
    'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
  ],
  [
    "another kind",
    { kind: "Pod", apiVersion: "v1" },
    'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  ],
  [
    "another kind without a version",
    { kind: "Pod" },
    'no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
  ],
  ...(
    [
      [[], "array"],
      ["x", "string"],
      [1, "number"],
      [true, "bool"],
    ] as const
  ).map(
    ([value, kind]) =>
      [
        `a body of kind ${kind}`,
        value,
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
      ] as const,
  ),
];

for (const [name, body, message] of refusals) {
  test(`the options of a deletion are refused: ${name}`, async () => {
    await assert.rejects(deletion({ body }), { message });
  });
}

test("members of a wrong type are refused", async () => {
  await assert.rejects(deletion({ body: { gracePeriodSeconds: "1" } }), /cannot unmarshal string into Go struct field/);
});

test("kinds that orphan by default warn about it unless the request decides", async () => {
  const note =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
  assert.deepEqual((await deletion({ orphans: true })).notes, [note]);
  assert.deepEqual((await deletion({ orphans: true, query: "propagationPolicy=Background" })).notes, []);
  assert.deepEqual((await deletion({ orphans: true, query: "orphanDependents=false" })).notes, []);
  assert.deepEqual((await deletion({})).notes, []);
});

test("options within another object are read in the same way", async () => {
  assert.deepEqual(await deleteOptionsOf({ propagationPolicy: "Background" }), {
    ...noOptions,
    propagation: "Background",
  });
  await assert.rejects(deleteOptionsOf({ propagationPolicy: "X" }), /Unsupported value: "X"/);
});
