// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../testing/test-request.ts";
import { health } from "./health.ts";

const ok = { name: "ping", check: () => {} };
const broken = {
  name: "store",
  check: () => {
    throw new Error("the secret reason");
  },
};
const checks = { healthz: [ok], livez: [ok], readyz: [ok, broken] };

const cases: Record<string, { reason: string; url: string; code: number; text: string }> = {
  Ok: { reason: "everything is well", url: "/healthz", code: 200, text: "ok" },
  Verbose: { reason: "what is well", url: "/livez?verbose", code: 200, text: "[+]ping ok\nlivez check passed\n" },
  One: { reason: "one check", url: "/readyz/ping", code: 200, text: "ok" },
  Failed: {
    reason: "what is not well, but not why",
    url: "/readyz",
    code: 500,
    text: "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n",
  },
  Excluded: {
    reason: "but for this",
    url: "/readyz?exclude=store&verbose=true",
    code: 200,
    text: "[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n",
  },
  ExcludedUnknown: {
    reason: "a typo shows",
    url: "/livez?exclude=x&verbose",
    code: 200,
    text: '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "x"\nlivez check passed\n',
  },
};

for (const [name, { reason, url, code, text }] of Object.entries(cases)) {
  test(`health: ${name}`, () => {
    const [path = "", query = ""] = url.split("?");
    const response = health(path, new URLSearchParams(query), checks);
    assert.deepEqual([response?.code, textOf(response)], [code, text], reason);
  });
}

for (const path of ["/", "/healthzz", "/readyz/unknown", "/readyz/ping/more", "/health"]) {
  test(`"${path}" is not about health`, () => assert.equal(health(path, new URLSearchParams(), checks), undefined));
}
