// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { FunctionReference, FunctionRevisions } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import { checkPipeline } from "./validity-controller.ts";

interface Made {
  readonly fn?: string;
  readonly number?: number;
  readonly state?: string;
  readonly endpoint?: string;
  /** Undefined while the package has not been read. */
  readonly capabilities?: string[] | undefined;
  readonly isHealthy?: boolean;
  readonly labels?: Record<string, string>;
  readonly image?: string;
  readonly digest?: string;
}

function revision(name: string, made: Made = {}): JsonObject {
  const { fn = "fn", number = 1, state = "Active", endpoint = "dns:///x:9443", isHealthy = false } = made;
  const capabilities = "capabilities" in made ? made.capabilities : ["composition"];
  const conditions = isHealthy ? [{ type: "RevisionHealthy", status: "True" }] : [];
  const { labels = {}, image = "reg.io/fn:v1", digest } = made;
  return {
    metadata: { name, labels: { "pkg.crossplane.io/package": fn, ...labels } },
    spec: { desiredState: state, revision: number, image, ...(digest === undefined ? {} : { digest }) },
    status: { endpoint, conditions, ...(capabilities && { capabilities }) },
  };
}

function revisionsOf(objects: readonly JsonObject[]): FunctionRevisions {
  const metadata = (object: JsonObject): JsonObject => object["metadata"] as JsonObject;
  return {
    get: async (name) => objects.find((object) => metadata(object)["name"] === name),
    list: async (wanted) =>
      objects.filter((object) => [...wanted].every(([k, v]) => (metadata(object)["labels"] as JsonObject)[k] === v)),
    withDigest: async (wanted) => objects.filter((object) => (object["spec"] as JsonObject)["digest"] === wanted),
  };
}

const step = (more: Partial<FunctionReference> = {}): FunctionReference => ({ step: "s", functionName: "fn", ...more });
const digest = `sha256:${"ab".repeat(32)}`;
const lacking = (fn: string, name: string): string =>
  `function "${fn}" (active revision "${name}") is missing required capabilities: composition`;

interface Case {
  readonly reason: string;
  readonly revisions?: readonly JsonObject[];
  readonly steps?: readonly FunctionReference[];
  readonly development?: readonly string[];
  readonly off?: boolean;
  /** The message of a pipeline that is not valid. */
  readonly missing?: string;
  readonly disabled?: string;
}

const cases: Record<string, Case> = {
  Capable: { reason: "a function that composes", revisions: [revision("fn-1")] },
  Spelling: {
    reason: "capabilities are compared by letters and digits",
    revisions: [revision("fn-1", { capabilities: ["CompoSition", "other"] })],
  },
  Uninstalled: { reason: "a function that is not installed does not fail the check" },
  Inactive: {
    reason: "nor one without an active revision",
    revisions: [revision("fn-1", { state: "Inactive", capabilities: [] })],
  },
  Incapable: {
    reason: "a function for operations only",
    revisions: [revision("fn-1", { capabilities: ["operation"] })],
    missing: lacking("fn", "fn-1"),
  },
  None: {
    reason: "a function that says it can do nothing",
    revisions: [revision("fn-1", { capabilities: [], endpoint: "" })],
    missing: lacking("fn", "fn-1"),
  },
  Unread: {
    reason: "a package that has not been read yet is not said to lack anything",
    revisions: [revision("fn-1", { capabilities: undefined, endpoint: "" })],
  },
  NoneOmitted: {
    reason: "a package that was read and lists nothing lacks everything",
    revisions: [revision("fn-1", { capabilities: undefined, isHealthy: true })],
    missing: lacking("fn", "fn-1"),
  },
  Newcomer: {
    reason: "a newcomer without capabilities invalidates nothing while another one serves",
    revisions: [revision("fn-1"), revision("fn-2", { number: 2, capabilities: [] })],
  },
  Alpha: {
    reason: "an incapable revision that no step resolves to does not count",
    revisions: [
      revision("fn-1", { labels: { channel: "stable" } }),
      revision("fn-2", { number: 2, capabilities: ["operation"], labels: { channel: "alpha" } }),
    ],
    steps: [step({ functionRevisionSelector: { matchLabels: { channel: "stable" } } })],
  },
  AlphaChosen: {
    reason: "and one that a step resolves to does",
    revisions: [
      revision("fn-1", { labels: { channel: "stable" } }),
      revision("fn-2", { capabilities: ["operation"], labels: { channel: "alpha" } }),
    ],
    steps: [step({ functionRevisionSelector: { matchLabels: { channel: "alpha" } } })],
    missing: lacking("fn", "fn-2"),
  },
  ByRef: {
    reason: "also by name",
    revisions: [revision("fn-1"), revision("fn-2", { number: 2, capabilities: ["operation"] })],
    steps: [step({ functionRevisionRef: { name: "fn-1" } })],
  },
  MissingRef: {
    reason: "a named revision that is not there resolves to nothing",
    steps: [step({ functionRevisionRef: { name: "fn-9" } })],
  },
  ByImage: {
    reason: "a step that names an image is judged by the revision that runs it",
    revisions: [revision("other-1", { fn: "other", capabilities: ["operation"], digest })],
    steps: [{ step: "s", functionName: "", function: `reg.io/fn:v1@${digest}` }],
    missing: lacking("other", "other-1"),
  },
  Twice: {
    reason: "a function that two steps run is named once",
    revisions: [revision("fn-1", { capabilities: ["operation"] })],
    steps: [step(), step({ step: "t" })],
    missing: lacking("fn", "fn-1"),
  },
  Two: {
    reason: "every function that lacks something is named, in the order of the steps",
    revisions: [revision("b-1", { fn: "b", capabilities: [] }), revision("a-1", { fn: "a", capabilities: [] })],
    steps: [step({ functionName: "b" }), step({ step: "t", functionName: "a" })],
    missing: `${lacking("b", "b-1")}; ${lacking("a", "a-1")}`,
  },
  Development: {
    reason: "a function under development has no revision that could lack anything",
    revisions: [revision("fn-1", { capabilities: [] })],
    development: ["fn"],
  },
  ...Object.fromEntries(
    [
      step({ functionRevisionRef: { name: "fn-1" } }),
      step({ functionRevisionSelector: { matchLabels: { a: "b" } } }),
      { step: "s", functionName: "", function: `reg.io/fn@${digest}` },
    ].map((reference): [string, Case] => {
      const field = Object.keys(reference).find((key) => key !== "step" && key !== "functionName") ?? "";
      return [
        `Closed ${field}`,
        {
          reason: "with the switch off the pipeline fails closed",
          revisions: [revision("fn-1")],
          steps: [reference],
          off: true,
          disabled: `pipeline step "s" uses ${field}, which needs --enable-function-revision-selectors`,
        },
      ];
    }),
  ),
  OffAndPlain: { reason: "with the switch off plain steps continue", revisions: [revision("fn-1")], off: true },
};

suite("ValidPipeline", () => {
  for (const [
    name,
    { reason, revisions = [], steps = [step()], development = [], off, missing, disabled },
  ] of Object.entries(cases)) {
    test(`${name}: ${reason}`, async () => {
      const condition = await checkPipeline(steps, {
        revisions: revisionsOf(revisions),
        isUnderDevelopment: async (fn) => development.includes(fn),
        revisionSelectors: !off,
      });
      const message = disabled ?? missing;
      const wanted =
        message === undefined
          ? { type: "ValidPipeline", status: "True", reason: "ValidPipeline" }
          : {
              type: "ValidPipeline",
              status: "False",
              reason: disabled ? "FeatureDisabled" : "MissingCapabilities",
              message,
            };
      assert.deepEqual(condition, wanted);
    });
  }

  test("revisions that cannot be read reject the check", async () => {
    const boom = new Error("boom");
    const fail = (): Promise<never> => Promise.reject(boom);
    const revisions: FunctionRevisions = { get: fail, list: fail, withDigest: fail };
    const deps = { revisions, isUnderDevelopment: async () => false, revisionSelectors: true };
    await assert.rejects(checkPipeline([step()], deps), /boom/);
  });
});
