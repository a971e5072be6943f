// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { CaseRecord, type CompositeRecord } from "../src/test-command/case-record.ts";
import { type CaseState, type Expecting, expectationMismatches } from "../src/test-command/expectations.ts";
import type { TestCase } from "../src/test-command/test-file.ts";

/** A condition with a time. */
export const condition = (type: string, status: string, reason = "R", message?: string): JsonObject => ({
  ...{ type, status, reason, lastTransitionTime: "2026-01-01T00:00:00Z" },
  ...(message !== undefined && { message }),
});
/** A composite resource with conditions. */
export const app = (...conditions: JsonObject[]): KubeObject => ({
  apiVersion: "acme.org/v1",
  kind: "App",
  metadata: { name: "shop", uid: "u" },
  spec: { size: "s", generation: 7 },
  status: { conditions },
});
/** A composed resource whose name in the pipeline is its own. */
export const composed = (kind: string, name: string, more: JsonObject = {}): KubeObject => ({
  ...{ apiVersion: "v1", kind, metadata: { name, annotations: { "crossplane.io/composition-resource-name": name } } },
  ...more,
});

interface Session {
  readonly failures?: readonly { readonly text: string; readonly isUnsettled?: boolean }[];
  readonly refusals?: readonly { readonly text: string; readonly isInvalid: boolean }[];
  readonly objects?: readonly KubeObject[];
  readonly composed?: Readonly<Record<string, readonly KubeObject[]>>;
  /** Called by a step. */
  readonly step?: () => void;
}

/** What a session answers, without controllers. */
export function session({
  failures = [],
  refusals = [],
  objects = [],
  composed: children = {},
  step,
}: Session): CaseState["session"] {
  return {
    client: {
      get: async ({ kind }: KubeObject, { name }: { name: string }) =>
        objects.find((one) => one.kind === kind && one.metadata.name === name),
    },
    failures: async () => failures,
    refusals: () => refusals,
    composed: async ({ metadata }: KubeObject) => children[metadata.name ?? ""] ?? [],
    step: async () => step?.(),
  } as unknown as CaseState["session"];
}

interface Given extends Partial<Omit<CaseState, "session" | "record" | "resources">> {
  readonly session?: Session;
  readonly record?: Partial<CompositeRecord>;
  readonly resources?: Readonly<Record<string, KubeObject>>;
}

/** The state of a case: a composite resource App shop, unless members say otherwise. */
export function state({ session: own = {}, record: written = {}, resources = {}, ...members }: Given = {}): CaseState {
  const xr = "xr" in members ? members.xr : app();
  const root = xr ?? members.operation ?? app();
  const caseRecord = members.caseRecord ?? new CaseRecord();
  return {
    ...{ test: testCase(), session: session(own), root, caseRecord, xr, claim: undefined, operation: undefined },
    resources: new Map(Object.entries(resources)),
    ...members,
    record: Object.assign(caseRecord.of(root), written),
  };
}

/** Files that expectations name: what is compared is part of the answer. */
export const expecting: Expecting = {
  golden: async (file, text) => [`${file} is ${text}`],
  readFile: async (name) => `${name} is not YAML of an object`,
};
/** What differs from expectations, a line each. */
export const lines = async (expect: JsonObject, given: Given = {}): Promise<string[]> =>
  (await expectationMismatches(expect, state(given), expecting)).map(({ text }) => text);

/** A case of `purlin test` that does nothing, with members that a test sets. */
export function testCase(members: Partial<TestCase> = {}): TestCase {
  const file = members.file ?? "app.test.yaml";
  return {
    kind: "CompositionTest",
    ...{ file, suite: "apps", name: "small", tags: [], skip: undefined, isOnly: false, timeoutMs: undefined },
    ...{ inputs: {}, patches: [], expect: undefined, at: `${file}:6:5`, locate: () => "" },
    reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
    ...members,
  };
}
