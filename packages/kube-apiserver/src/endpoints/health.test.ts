// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../../test/test-server.ts";
import { serverChecks } from "../server/path-endpoints.ts";
import { health, healthPaths } from "./health.ts";

const ok = { name: "ping", check: () => undefined };
const broken = { name: "post/store", check: () => "the disk is full" };
const checks = { healthz: [ok], livez: [ok], readyz: [ok, broken] };

const cases: Record<string, { reason: string; url: string; code: number; text: string }> = {
  Ok: { reason: "everything is well", url: "/healthz", code: 200, text: "ok" },
  Verbose: { reason: "what is well", url: "/livez?verbose", code: 200, text: "[+]ping ok\nlivez check passed\n" },
  VerboseFalse: {
    reason: "whatever it says",
    url: "/livez?verbose=false",
    code: 200,
    text: "[+]ping ok\nlivez check passed\n",
  },
  One: { reason: "one check", url: "/readyz/ping", code: 200, text: "ok" },
  OneVerbose: { reason: "has no more to say", url: "/readyz/ping?verbose", code: 200, text: "ok" },
  OneFailed: {
    reason: "says why, and may have slashes in its name",
    url: "/readyz/post/store",
    code: 500,
    text: "internal server error: the disk is full\n",
  },
  Failed: {
    reason: "what is not well, but not why",
    url: "/readyz",
    code: 500,
    text: "[+]ping ok\n[-]post/store failed: reason withheld\nreadyz check failed\n",
  },
  Excluded: {
    reason: "but for this",
    url: "/readyz?exclude=post/store&verbose=true",
    code: 200,
    text: "[+]ping ok\n[+]post/store excluded: ok\nreadyz check passed\n",
  },
  ExcludedUnknown: {
    reason: "typos show",
    url: "/livez?exclude=x&exclude=y&verbose",
    code: 200,
    text: '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "x","y"\nlivez check passed\n',
  },
};

for (const [name, { reason, url, code, text }] of Object.entries(cases)) {
  test(`health: ${name}`, () => {
    const [path = "", query = ""] = url.split("?");
    const response = health(path, new URLSearchParams(query), checks);
    assert.deepEqual([response?.code, textOf(response)], [code, text], reason);
  });
}

test("other paths are not health checks", () => {
  for (const path of ["/", "/health", "/readyz/", "/readyz/unknown", "/readyz/ping/", "/livez/post/store"]) {
    assert.equal(health(path, new URLSearchParams(), checks), undefined, path);
  }
});

test("every check has a path", () => {
  assert.deepEqual(healthPaths(checks), [
    "/healthz",
    "/healthz/ping",
    "/livez",
    "/livez/ping",
    "/readyz",
    "/readyz/ping",
    "/readyz/post/store",
  ]);
});

const well = {
  storeProblem: (): string | undefined => undefined,
  areKindsServed: () => true,
  isBootstrapped: () => true,
  isStopping: () => false,
};
const states: Record<string, { reason: string; state: Partial<typeof well>; live: string[]; ready: string[] }> = {
  Well: { reason: "nothing fails", state: {}, live: [], ready: [] },
  Disk: {
    reason: "a store that refuses writes is not ready",
    state: { storeProblem: () => "full" },
    live: ["etcd"],
    ready: ["etcd", "etcd-readiness"],
  },
  Loading: {
    reason: "kinds come first, then what every cluster has",
    state: { areKindsServed: () => false, isBootstrapped: () => false },
    live: [
      "poststarthook/start-apiextensions-controllers",
      "poststarthook/crd-informer-synced",
      "poststarthook/start-system-namespaces-controller",
      "poststarthook/rbac/bootstrap-roles",
    ],
    ready: [
      "informer-sync",
      "poststarthook/start-apiextensions-controllers",
      "poststarthook/crd-informer-synced",
      "poststarthook/start-system-namespaces-controller",
      "poststarthook/rbac/bootstrap-roles",
    ],
  },
  Stopping: {
    reason: "alive, but nothing new should come",
    state: { isStopping: () => true },
    live: [],
    ready: ["shutdown"],
  },
};

for (const [name, { reason, state, live, ready }] of Object.entries(states)) {
  test(`the server's checks: ${name}`, () => {
    const { livez, readyz, healthz } = serverChecks({ ...well, ...state });
    const failing = (all: typeof livez): string[] =>
      all.filter(({ check }) => check() !== undefined).map((one) => one.name);
    assert.deepEqual([failing(livez), failing(healthz), failing(readyz)], [live, live, ready], reason);
  });
}
