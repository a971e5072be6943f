// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { testTypes } from "@purlin/kube-builtin/testing";
import { Registry, type ResourceType } from "../registry/registry.ts";
import type { Content, Operation } from "./operation.ts";
import { PublishedDocuments } from "./published-documents.ts";
import { resourcePaths } from "./resource-operations.ts";

/** An operation as kube-apiserver 1.36.3 describes it, without words and without protobuf. */
interface Recorded {
  readonly path: string;
  readonly method: string;
  readonly id: string;
  readonly tag: string;
  readonly action: string;
  readonly kind: string;
  readonly parameters: string;
  readonly body?: Described;
  readonly required: boolean;
  readonly responses: Readonly<Record<string, Described>>;
}

interface Described {
  readonly types: readonly string[];
  readonly component: string;
}

const recorded = JSON.parse(
  readFileSync(new URL("testdata/operations.json", import.meta.url), "utf8"),
) as readonly Recorded[];

const names = { group: "example.org", version: "v1", kind: "Widget", listKind: "WidgetList", resource: "widgets" };
const scale = {
  name: "scale",
  verbs: ["get", "patch", "update"],
  kind: { group: "autoscaling", version: "v1", kind: "Scale" },
};

function widgetType(): ResourceType {
  const [template] = testTypes.filter(({ resource }) => resource === "configmaps");
  assert.ok(template);
  const subresources = [{ name: "status", verbs: ["get", "patch", "update"] }, scale];
  return { ...template, ...names, custom: true, subresources };
}

/** What the server would describe, in the form of what was recorded. */
function described(): Map<string, Recorded> {
  const registry = new Registry(testTypes);
  const documents = new PublishedDocuments(() => ({ catalog: registry.catalog, crds: [] }));
  const builtin = [...finish(documents.all()).values()].flatMap(({ paths }) => paths);
  const component = ({ kind }: { readonly kind: string }): string =>
    kind === "Scale" ? "io.k8s.api.autoscaling.v1.Scale" : `org.example.v1.${kind}`;
  const all = [...builtin, ...resourcePaths(widgetType(), component)];
  const operations = all.flatMap(({ path, operations: ours }) => ours.map((one) => recordedForm(path, one)));
  return new Map(operations.map((one) => [`${one.method} ${one.path}`, one]));
}

function recordedForm(path: string, operation: Operation): Recorded {
  const { method, id, tag, action = "", kind, parameters, body, consumes, produces, responses } = operation;
  const shown = ({ component = "" }: Content, types: readonly string[]): Described => ({
    types: types.toSorted(),
    component,
  });
  const answers = Object.entries(responses).map(([code, content]) => [code, shown(content, produces)]);
  return {
    path,
    method,
    id,
    tag,
    action,
    kind: kind === undefined ? "" : `${kind.group} ${kind.version} ${kind.kind}`,
    parameters: parameters
      .map(({ name, in: where, type }) => `${name}:${where}:${type}`)
      .sort()
      .join(" "),
    ...(body !== undefined && { body: shown(body, consumes) }),
    required: body?.required ?? false,
    responses: Object.fromEntries(answers),
  };
}

const ours = described();

for (const operation of recorded) {
  test(`${operation.method} ${operation.path} is described as the reference describes it`, () => {
    assert.deepEqual(ours.get(`${operation.method} ${operation.path}`), operation);
  });
}

test("nothing is described that the reference does not have", () => {
  const known = new Set(recorded.map(({ method, path }) => `${method} ${path}`));
  const isDiscovery = (one: string): boolean => one.endsWith("/");
  const isRegistration = (one: string): boolean => one.includes("/apiregistration.k8s.io/");
  const more = [...ours.keys()].filter((one) => !known.has(one) && !isDiscovery(one) && !isRegistration(one));
  assert.deepEqual(more, []);
});

test("every operation has a name of its own", () => {
  const ids = [...ours.values()].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});
