// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { serveFunction } from "../../test/function-server.ts";
import { call, dial, request } from "../../test/runs.ts";
import { createStepRunner, type FunctionReference } from "./function-resolver.ts";
import { createRevisionResolver, type FunctionRevisions } from "./revision-resolver.ts";

interface Made {
  readonly fn?: string;
  readonly number?: number;
  readonly state?: string;
  readonly endpoint?: string;
  readonly capabilities?: string[];
  readonly labels?: Record<string, string>;
  readonly created?: string;
  readonly image?: string;
  readonly digest?: string;
  readonly controller?: JsonObject;
}

function revision(name: string, made: Made = {}): JsonObject {
  const {
    fn = "fn",
    number = 1,
    state = "Active",
    endpoint = `dns:///${name}.ns:9443`,
    created = "2026-01-01T00:00:00Z",
  } = made;
  const { capabilities = ["composition"], labels = {}, image = `reg.io/${fn}:v${number}`, digest = "" } = made;
  const owners = made.controller && { ownerReferences: [{ ...made.controller, controller: true }] };
  return {
    metadata: { name, creationTimestamp: created, labels: { "pkg.crossplane.io/package": fn, ...labels }, ...owners },
    spec: { desiredState: state, revision: number, image, ...(digest === "" ? {} : { digest }) },
    status: { endpoint, capabilities },
  };
}

/** FunctionRevisions as an informer would hold them. */
function revisionsOf(...objects: JsonObject[]): FunctionRevisions {
  const metadataOf = (object: JsonObject): JsonObject => object["metadata"] as JsonObject;
  return {
    get: async (name) => objects.find((object) => metadataOf(object)["name"] === name),
    list: async (wanted) =>
      objects.filter((object) => {
        const labels = metadataOf(object)["labels"] as JsonObject;
        return [...wanted].every(([key, value]) => labels[key] === value);
      }),
    withDigest: async (wanted) =>
      objects.filter((object) => (object["spec"] as JsonObject | undefined)?.["digest"] === wanted),
  };
}

const step = (more: Partial<FunctionReference> = {}): FunctionReference => ({
  step: "compose",
  functionName: "fn",
  ...more,
});
const functionOf = (name: string): JsonObject => ({ apiVersion: "pkg.crossplane.io/v1", kind: "Function", name });
const digest = `sha256:${"ab".repeat(32)}`;

const resolved: Readonly<
  Record<
    string,
    { reason: string; revisions: JsonObject[]; reference?: Partial<FunctionReference>; on?: boolean; want: string }
  >
> = {
  Highest: {
    reason: "C46, packages case 68, 70: of two Active revisions the higher number serves",
    revisions: [revision("fn-a", { number: 3 }), revision("fn-b", { number: 7 })],
    want: "fn-b",
  },
  TenIsMoreThanNine: {
    reason: "C46: numbers are compared as numbers",
    revisions: [revision("fn-a", { number: 10 }), revision("fn-b", { number: 9 })],
    want: "fn-a",
  },
  TieByAge: {
    reason: "of equal numbers the newest creation serves",
    revisions: [revision("fn-a", { created: "2026-02-01T00:00:00Z" }), revision("fn-b")],
    want: "fn-a",
  },
  TieByName: {
    reason: "of equal numbers and ages the name decides",
    revisions: [revision("fn-b"), revision("fn-a")],
    want: "fn-a",
  },
  Inactive: {
    reason: "an Inactive revision does not serve, whatever its number",
    revisions: [revision("fn-a", { number: 9, state: "Inactive" }), revision("fn-b")],
    want: "fn-b",
  },
  Controlled: {
    reason: "the revision of a Function is controlled by it",
    revisions: [revision("fn-a"), revision("fn-b", { number: 2, controller: functionOf("fn") })],
    want: "fn-b",
  },
  Composed: {
    reason: "a revision that a function composed does not serve, whatever its number",
    revisions: [
      revision("fn-a"),
      revision("fn-b", { number: 9, controller: { apiVersion: "e.org/v1", kind: "XApp", name: "fn" } }),
      revision("fn-c", { number: 9, controller: { apiVersion: "e.org/v1", kind: "Function", name: "fn" } }),
    ],
    want: "fn-a",
  },
  OfAnotherFunction: {
    reason: "a revision that another Function controls does not serve, whatever its label",
    revisions: [revision("fn-a"), revision("fn-b", { number: 9, controller: functionOf("other") })],
    want: "fn-a",
  },
  Newcomer: {
    reason: "C53, packages case 68: while the highest has no endpoint yet, a lower one that serves is used",
    revisions: [revision("fn-a", { number: 2, endpoint: "" }), revision("fn-b", { number: 1 })],
    want: "fn-b",
  },
  NewcomerWithoutCapabilities: {
    reason: "C53: the same while its capabilities are not recorded",
    revisions: [revision("fn-a", { number: 2, capabilities: [] }), revision("fn-b", { number: 1 })],
    want: "fn-b",
  },
  NoCapabilitiesAnywhere: {
    reason: "a revision that answers can be called; the validity check reports a missing capability",
    revisions: [revision("fn-a", { capabilities: [] })],
    want: "fn-a",
  },
  ByRef: {
    reason: "a named revision is used although a higher one serves",
    revisions: [revision("fn-a"), revision("fn-b", { number: 2 })],
    reference: { functionRevisionRef: { name: "fn-a" } },
    want: "fn-a",
  },
  RefAndSelector: {
    reason: "C51: given both, the name wins",
    revisions: [revision("fn-a"), revision("fn-b", { number: 2, labels: { channel: "alpha" } })],
    reference: {
      functionRevisionRef: { name: "fn-a" },
      functionRevisionSelector: { matchLabels: { channel: "alpha" } },
    },
    want: "fn-a",
  },
  BySelector: {
    reason: "the highest that carries the labels",
    revisions: [
      revision("fn-a", { labels: { channel: "stable" } }),
      revision("fn-b", { number: 2, labels: { channel: "stable" } }),
      revision("fn-c", { number: 3, labels: { channel: "alpha" } }),
    ],
    reference: { functionRevisionSelector: { matchLabels: { channel: "stable" } } },
    want: "fn-b",
  },
  ForeignLabel: {
    reason: "C50: a selector cannot reach another function's revisions",
    revisions: [revision("fn-a"), revision("other-a", { fn: "other", number: 9 })],
    reference: { functionRevisionSelector: { matchLabels: { "pkg.crossplane.io/package": "other" } } },
    want: "fn-a",
  },
  SwitchOff: {
    reason: "C52: with the switch off and nothing named, the one Active revision serves",
    revisions: [revision("fn-a"), revision("fn-b", { state: "Inactive", number: 2 })],
    on: false,
    want: "fn-a",
  },
  ByImage: {
    reason: "packages case 85: a package reference selects the revision that runs exactly that image",
    revisions: [revision("a", { image: "reg.io:5000/fn:v1", digest }), revision("b", { number: 9 })],
    reference: { functionName: "", function: `reg.io:5000/fn:v1@${digest}` },
    want: "a",
  },
  ByImageOtherTag: {
    reason: "packages case 85: the tag is for readers",
    revisions: [revision("a", { image: "reg.io:5000/fn:latest", digest })],
    reference: { functionName: "", function: `reg.io:5000/fn@${digest}` },
    want: "a",
  },
};

for (const [name, { reason, revisions, reference, on = true, want }] of Object.entries(resolved)) {
  test(`resolution ${name}: ${reason}`, async () => {
    const resolver = createRevisionResolver(revisionsOf(...revisions), { revisionSelectors: on });
    assert.equal((await resolver.resolve(step(reference))).revisionName, want);
  });
}

test("a target carries all that the layers need", async () => {
  const resolver = createRevisionResolver(revisionsOf(revision("fn-a", { number: 4 })), { revisionSelectors: false });
  assert.deepEqual(await resolver.resolve(step()), {
    functionName: "fn",
    revisionName: "fn-a",
    packageRef: "reg.io/fn:v4",
    endpoint: "dns:///fn-a.ns:9443",
    revision: 4,
  });
});

const refused: Readonly<
  Record<
    string,
    {
      reason: string;
      revisions?: JsonObject[];
      reference?: Partial<FunctionReference>;
      on?: boolean;
      code: string;
      want: string;
    }
  >
> = {
  Inactive: {
    reason: "C47, packages case 67: a named revision that is Inactive",
    revisions: [revision("fn-a", { state: "Inactive" }), revision("fn-b")],
    reference: { functionRevisionRef: { name: "fn-a" } },
    code: "REVISION_INACTIVE",
    want: 'FunctionRevision "fn-a" is not active',
  },
  Foreign: {
    reason: "C48, packages case 66: a named revision of another function",
    revisions: [revision("other-a", { fn: "other" })],
    reference: { functionRevisionRef: { name: "other-a" } },
    code: "REVISION_FOREIGN",
    want: 'FunctionRevision "other-a" does not belong to Function "fn"',
  },
  Missing: {
    reason: "a named revision that does not exist",
    revisions: [revision("fn-b")],
    reference: { functionRevisionRef: { name: "fn-a" } },
    code: "REVISION_NOT_FOUND",
    want: 'cannot get FunctionRevision "fn-a": not found',
  },
  NamedWithoutEndpoint: {
    reason: "C53: a named revision never falls back to another",
    revisions: [revision("fn-a", { endpoint: "" }), revision("fn-b")],
    reference: { functionRevisionRef: { name: "fn-a" } },
    code: "NO_ENDPOINT",
    want: 'cannot determine gRPC target: active FunctionRevision "fn-a" has an empty status.endpoint',
  },
  NothingMatches: {
    reason: "C49, packages case 69: a selector that matches nothing Active",
    revisions: [revision("fn-a", { labels: { channel: "alpha" }, state: "Inactive" }), revision("fn-b")],
    reference: { functionRevisionSelector: { matchLabels: { tier: "1", channel: "alpha" } } },
    code: "NO_ACTIVE_REVISION",
    want: 'no active FunctionRevision of Function "fn" matches channel=alpha,tier=1',
  },
  NothingActive: {
    reason: "a function without an Active revision",
    revisions: [revision("fn-a", { state: "Inactive" })],
    code: "NO_ACTIVE_REVISION",
    want: "cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)",
  },
  NoneServes: {
    reason: "C53: when none serves, the highest is named with what it lacks",
    revisions: [revision("fn-a", { number: 1, endpoint: "" }), revision("fn-b", { number: 2, endpoint: "" })],
    code: "NO_ENDPOINT",
    want: 'cannot determine gRPC target: active FunctionRevision "fn-b" has an empty status.endpoint',
  },
  RefWithSwitchOff: {
    reason: "C52, packages case 61: with the switch off a step that names a revision fails",
    revisions: [revision("fn-a")],
    reference: { functionRevisionRef: { name: "fn-a" } },
    on: false,
    code: "FEATURE_DISABLED",
    want: 'pipeline step "compose" uses functionRevisionRef, which needs --enable-function-revision-selectors',
  },
  SelectorWithSwitchOff: {
    reason: "C52: so does one with a selector",
    revisions: [revision("fn-a")],
    reference: { functionRevisionSelector: { matchLabels: {} } },
    on: false,
    code: "FEATURE_DISABLED",
    want: 'pipeline step "compose" uses functionRevisionSelector, which needs --enable-function-revision-selectors',
  },
  ImageWithSwitchOff: {
    reason: "C52: and one that names a package",
    reference: { function: `reg.io/fn@${digest}` },
    on: false,
    code: "FEATURE_DISABLED",
    want: 'pipeline step "compose" uses function, which needs --enable-function-revision-selectors',
  },
  ImageNotInstalled: {
    reason: "a package that is not installed is named with the way to install it",
    revisions: [
      revision("a", { image: "reg.io/other:v1", digest }),
      revision("b", { image: "reg.io/fn:v1", digest, state: "Inactive" }),
    ],
    reference: { functionName: "fn", function: `reg.io/fn:v1@${digest}` },
    code: "NO_ACTIVE_REVISION",
    want: `no active FunctionRevision runs reg.io/fn:v1@${digest}: install it with a Function whose spec.package is reg.io/fn:v1@${digest}`,
  },
};

for (const [name, { reason, revisions = [], reference, on = true, code, want }] of Object.entries(refused)) {
  test(`resolution ${name}: ${reason}`, async () => {
    const resolver = createRevisionResolver(revisionsOf(...revisions), { revisionSelectors: on });
    await assert.rejects(resolver.resolve(step(reference)), {
      code,
      message: `cannot get gRPC client connection for Function "fn": ${want}`,
    });
  });
}

test("a step that resolves to nothing makes no call", async (t) => {
  await using fn = await serveFunction();
  const revisions = revisionsOf(revision("fn-a", { state: "Inactive", endpoint: fn.endpoint }));
  const run = createStepRunner(createRevisionResolver(revisions, { revisionSelectors: true }), dial(t));
  await assert.rejects(run(step({ functionRevisionRef: { name: "fn-a" } }), request(), call()), {
    code: "REVISION_INACTIVE",
  });
  assert.equal(fn.accepted, 0);
});

test("when revisions cannot be listed the step fails, although there is a connection it could have used", async (t) => {
  await using fn = await serveFunction();
  const good = revisionsOf(revision("fn-a", { endpoint: fn.endpoint }));
  const boom = new Error("boom");
  let fails = false;
  const revisions: FunctionRevisions = {
    ...good,
    list: (labels) => (fails ? Promise.reject(boom) : good.list(labels)),
  };
  const runner = dial(t);
  const run = createStepRunner(createRevisionResolver(revisions, { revisionSelectors: false }), runner);
  const { target } = await run(step(), request(), call());
  assert.equal(target.revisionName, "fn-a");
  fails = true;
  await assert.rejects(run(step(), request(), call()), {
    message: 'cannot get gRPC client connection for Function "fn": cannot list FunctionRevisions: boom',
  });
  assert.equal(fn.calls.length, 1);
  assert.equal(runner.stats().connections, 1);
});

test("a step that names an image looks at the revisions of that digest alone", async () => {
  const found = revisionsOf(revision("fn-a", { digest, image: "reg.io/fn:v1" }));
  const list = (): Promise<never> => assert.fail("revisions of other digests are not listed");
  const resolver = createRevisionResolver({ ...found, list }, { revisionSelectors: true });
  const target = await resolver.resolve(step({ functionName: "", function: `reg.io/fn@${digest}` }));
  assert.equal(target.revisionName, "fn-a");
  const other = `reg.io/fn@sha256:${"cd".repeat(32)}`;
  await assert.rejects(resolver.resolve(step({ functionName: "", function: other })), { code: "NO_ACTIVE_REVISION" });
});

test("a revision that cannot be read is not one that does not exist", async () => {
  const boom = new Error("boom");
  const revisions: FunctionRevisions = { ...revisionsOf(), get: () => Promise.reject(boom) };
  const resolver = createRevisionResolver(revisions, { revisionSelectors: true });
  await assert.rejects(resolver.resolve(step({ functionRevisionRef: { name: "fn-a" } })), {
    code: "FETCH",
    message: 'cannot get gRPC client connection for Function "fn": cannot get FunctionRevision "fn-a": boom',
  });
});

test("malformed FunctionRevisions do not serve, and cause no error", async () => {
  const odd: JsonObject[] = [
    {},
    { spec: [] },
    { metadata: { labels: 7 }, spec: { desiredState: "Active", revision: "7" }, status: { capabilities: "x" } },
  ];
  const revisions: FunctionRevisions = { get: async () => ({}), list: async () => odd, withDigest: async () => odd };
  const resolver = createRevisionResolver(revisions, { revisionSelectors: true });
  await assert.rejects(resolver.resolve(step()), { code: "NO_ENDPOINT" });
  await assert.rejects(resolver.resolve(step({ functionRevisionRef: { name: "x" } })), { code: "REVISION_FOREIGN" });
});
