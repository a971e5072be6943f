// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtocolError } from "@purlin/function-protocol";
import { NoMatchError } from "@purlin/kube-client";
import { wrapError } from "@purlin/kube-objects/errors";
import { adviceOn, FatalResultError } from "../run/step-results.ts";

const fatal = (message: string): FatalResultError =>
  new FatalResultError({
    step: "s",
    message,
    reason: "",
    forClaim: false,
    events: [],
    conditions: [],
    functionRevisions: [],
  });

const rows: Readonly<Record<string, { reason: string; error: unknown; want: RegExp }>> = {
  NoKind: {
    reason: "a kind that is not there may come",
    error: wrapError("cannot apply", new NoMatchError({ apiVersion: "x.org/v1", kind: "Gadget" })),
    want: /install the CRD/,
  },
  NoNamespaceError: {
    reason: "so may a namespace",
    error: wrapError("cannot apply", new Error('namespaces "team" not found')),
    want: /create the namespace/,
  },
  Unreachable: {
    reason: "so may a function",
    error: new Error('function unreachable for pipeline step "s" before its deadline: connect ECONNREFUSED'),
    want: /check that the function runs/,
  },
  Asked: {
    reason: "a question is advice enough",
    error: new Error('function unreachable for pipeline step "s" before its deadline: does it expect TLS?'),
    want: /^$/,
  },
  Unstable: {
    reason: "its author must know why",
    error: wrapError("cannot run", new ProtocolError("UNSTABLE_REQUIREMENTS", "x")),
    want: /the same requirements on every call/,
  },
  Fatal: {
    reason: "the message of a function is reported as it is",
    error: fatal("function unreachable"),
    want: /^$/,
  },
  FatalKind: {
    reason: "whatever it looks like",
    error: fatal('no matches for kind "Gadget" in version "x.org/v1"'),
    want: /^$/,
  },
  Plain: { reason: "most texts say it all", error: new Error("no such bucket"), want: /^$/ },
  NoError: { reason: "anything can be thrown", error: "no", want: /^$/ },
};

for (const [name, { reason, error, want }] of Object.entries(rows)) {
  test(`advice, ${name}: ${reason}`, () => assert.match(adviceOn(error), want));
}

test("a text that says the same again and again is read once", () => {
  // What functions answer goes into it. A search that begins again at each place would take minutes here.
  const text = `${"function unreachable ".repeat(30_000)}?`;
  assert.equal(adviceOn(new Error(text)), "");
});
