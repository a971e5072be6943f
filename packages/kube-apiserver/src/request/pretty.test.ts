// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest } from "@purlin/kube-objects/errors";
import { textOf } from "../../test/test-server.ts";
import { documentPayload } from "./api-request.ts";
import { errorResponse, wantsPretty } from "./negotiate.ts";

const cases: Record<string, { reason: string; query?: string; agent?: string; want: boolean }> = {
  Program: { reason: "not requested", want: false },
  True: { reason: "asked", query: "pretty=true", want: true },
  One: { reason: "asked as Go reads it", query: "pretty=1", want: true },
  Yes: { reason: "no word Go knows", query: "pretty=yes", want: false },
  Bare: { reason: "a switch without a value is off", query: "pretty", want: false },
  BareInCurl: { reason: "and does not switch anything off", query: "pretty=", agent: "curl/8.0", want: true },
  Curl: { reason: "a user at a terminal", agent: "curl/8.0", want: true },
  Wget: { reason: "a user at a terminal", agent: "Wget/1.2", want: true },
  Browser: { reason: "a user at a screen", agent: "Mozilla/5.0 (X11)", want: true },
  CurlRefuses: {
    reason: "an explicit parameter takes precedence",
    query: "pretty=false",
    agent: "curl/8.0",
    want: false,
  },
  Inside: { reason: "only at the beginning of the name", agent: "kubectl-curl", want: false },
};

for (const [name, { reason, query = "", agent, want }] of Object.entries(cases)) {
  test(`pretty: ${name}`, () => {
    const headers = agent === undefined ? {} : { "user-agent": agent };
    assert.equal(wantsPretty({ headers, query: new URLSearchParams(query) }), want, reason);
  });
}

const text = (payload: ReturnType<typeof documentPayload>): string => Buffer.concat([...payload.chunks()]).toString();

test("documents end with a line break, those for people do not; nothing in them is HTML", () => {
  const json = { mediaType: "application/json" } as const;
  assert.equal(text(documentPayload({ a: "<b>&\u2028" }, json)), '{"a":"\\u003cb\\u003e\\u0026\\u2028"}\n');
  assert.equal(text(documentPayload({ a: [] }, { ...json, pretty: true })), '{\n  "a": []\n}');
});

test("errors come in the form that was asked for, and as JSON for people when there is none", () => {
  const answer = (accept: string, query = ""): string =>
    textOf(errorResponse(badRequest("no"), { headers: { accept }, query: new URLSearchParams(query) }));
  assert.match(answer("application/json"), /^\{"kind":"Status".*\}\n$/);
  assert.match(answer("application/json", "pretty=true"), /^\{\n {2}"kind": "Status",.*\n\}$/s);
  assert.match(answer("application/yaml"), /^apiVersion: v1\n/);
  assert.match(answer("text/html"), /^\{\n {2}"kind": "Status",.*\n\}$/s);
});
