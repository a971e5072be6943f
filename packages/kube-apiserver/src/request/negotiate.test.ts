// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isNotAcceptable } from "@purlin/kube-objects/errors";
import { createNegotiation, negotiateError } from "./negotiate.ts";

const negotiate = createNegotiation(
  ({ as, group, version }, mediaType) =>
    as === "Table" && group === "meta.k8s.io" && version === "v1" && mediaType === "application/json",
);
const table = { as: "Table", group: "meta.k8s.io", version: "v1" };
const json = { mediaType: "application/json", transform: undefined, pretty: false };

const cases: Record<string, { reason: string; accept: string | undefined; want: object }> = {
  Absent: { reason: "no header", accept: undefined, want: json },
  Empty: { reason: "an empty header", accept: " ", want: json },
  Json: { reason: "as asked", accept: "application/json", want: json },
  Yaml: { reason: "as asked", accept: "application/yaml", want: { ...json, mediaType: "application/yaml" } },
  ControllerRuntime: {
    reason: "protobuf is not offered, anything else is fine",
    accept: "application/vnd.kubernetes.protobuf, */*",
    want: json,
  },
  ClientGo: { reason: "JSON is second", accept: "application/vnd.kubernetes.protobuf,application/json", want: json },
  Kubectl: {
    reason: "the first table we have",
    accept:
      "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    want: { ...json, transform: table },
  },
  OtherTransform: {
    reason: "a clause with a transform we lack is skipped",
    accept: "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
    want: json,
  },
  YamlTable: {
    reason: "a table only as JSON",
    accept: "application/yaml;as=Table;v=v1;g=meta.k8s.io,*/*;as=Table;v=v1;g=meta.k8s.io",
    want: { ...json, transform: table },
  },
  Weights: {
    reason: "the heavier clause wins",
    accept: "application/json;q=0.5,application/yaml;q=0.9",
    want: { ...json, mediaType: "application/yaml" },
  },
  ConcreteFirst: {
    reason: "concrete before wildcard",
    accept: "*/*,application/yaml",
    want: { ...json, mediaType: "application/yaml" },
  },
  Weightless: { reason: "not wanted, but all there is", accept: "text/html,application/json;q=0", want: json },
  NodeClient: { reason: "a low weight for anything", accept: "application/json, */*;q=0.8", want: json },
  Browser: {
    reason: "nothing ours but the wildcard",
    accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    want: json,
  },
  Subtype: { reason: "any subtype", accept: "application/*", want: json },
  Stream: {
    reason: "parameters that do not matter",
    accept: "application/json;stream=watch;charset=utf-8",
    want: json,
  },
  Pretty: { reason: "indentation", accept: "application/json;pretty=1", want: { ...json, pretty: true } },
  SpecificVersion: {
    reason: "sv rejects the clause",
    accept: "application/json;sv=v1,application/yaml",
    want: { ...json, mediaType: "application/yaml" },
  },
  Quoted: {
    reason: "quotes may hide separators",
    accept: 'application/json;x="a,b;c=\\"d";as="Table";v=v1;g=meta.k8s.io',
    want: { ...json, transform: table },
  },
  Case: { reason: "types have no case", accept: "Application/JSON", want: json },
};

for (const [name, { reason, accept, want }] of Object.entries(cases)) {
  test(`negotiate: ${name}`, () => {
    for (let round = 0; round < 2; round += 1) assert.deepEqual(negotiate(accept), want, reason);
  });
}

for (const accept of ["application/vnd.kubernetes.protobuf", "text/html", "nonsense", "application/json;as=Other"]) {
  test(`"${accept}" cannot be served`, () => {
    assert.throws(
      () => negotiate(accept),
      (error) => isNotAcceptable(error) && /accepted: application\/json, application\/yaml$/.test(String(error)),
    );
  });
}

test("many different headers do not pile up", () => {
  for (let i = 0; i < 1000; i += 1) assert.deepEqual(negotiate(`application/json;x=${i}`), json);
});

test("errors have one shape; the error lists the media types when none matches", () => {
  assert.equal(negotiateError("application/yaml"), "application/yaml");
  assert.equal(negotiateError("application/yaml;as=Table,application/json"), "application/json");
  assert.equal(negotiateError("application/yaml;as=Table"), undefined);
  assert.equal(negotiateError("text/html"), undefined);
  assert.equal(negotiateError(undefined), "application/json");
});
