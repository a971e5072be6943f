// SPDX-License-Identifier: Apache-2.0
// Broken packages, with a registry and the package manager of a control plane: on the embedded server functions are child processes, on
// the real one Pods. The first cause is the one that was built in.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Explanation, explainObject, explanationText } from "@purlin/explain";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { compositionOf, definitionOf } from "../../packages/explain/test/platform.ts";
import { freePort } from "../../tools/peers/free-port.ts";
import { type PackagePlane, startPackagePlane } from "./harness/packages/package-plane.ts";
import { eventually } from "./harness/plane.ts";

const namespace = "default";
const apiVersion = "pkg.crossplane.io/v1";

let plane: PackagePlane;
before(async () => {
  plane = await startPackagePlane({ functionRevisionSelectors: false });
  await plane.apply(definitionOf("App"));
  await Promise.all(scenes.map(({ make }) => make()));
});
after(() => plane?.[Symbol.asyncDispose]());

/** A set-up: what is made, the object to explain, and what to find. */
interface Scene {
  readonly code: string;
  readonly says: RegExp;
  readonly next: RegExp;
  readonly root: KubeObject;
  /** The object of the cause, as the explanation names it; the kind of a Pod or a process differs between servers. */
  readonly at: RegExp;
  readonly make: () => Promise<void>;
}

const ref = (name: string): string => `${plane.registry.address}/explain/${name}`;
const packageOf = (kind: string, name: string): KubeObject => ({ apiVersion, kind, metadata: { name }, spec: {} });
const install = (kind: string, name: string, image: string, spec: JsonObject = {}): Promise<void> =>
  plane.apply({ ...packageOf(kind, name), spec: { package: image, packagePullPolicy: "Always", ...spec } });

/** Builds a function and installs it. */
async function publish(name: string, build: { isBroken?: boolean; packageSpec?: string } = {}): Promise<void> {
  await plane.registry.publish({ name: `explain/${name}:v1.0.0`, version: "v1.0.0", ...build });
}

const app = (name: string): KubeObject => ({
  ...{ apiVersion: "example.org/v1", kind: "App" },
  metadata: { name, namespace },
  spec: { crossplane: { compositionRef: { name } } },
});
const using = (name: string): Promise<void> =>
  plane.apply(compositionOf(name, "App", { functionRef: { name } }), app(name));

const scenes: readonly Scene[] = [
  {
    code: "E07",
    root: app("fn-operation"),
    at: /^App /,
    says: /is invalid: function "fn-operation" .* is missing required capabilities: composition/,
    next: /capability composition/,
    async make() {
      await publish("fn-operation", { packageSpec: "{capabilities: [operation]}" });
      await install("Function", "fn-operation", ref("fn-operation:v1.0.0"));
      await using("fn-operation");
    },
  },
  {
    code: "E12",
    root: app("fn-idle"),
    at: /^Function fn-idle$/,
    says: /^Function fn-idle (has 1 revisions \(fn-idle-\w+\), and none that the step can use is active|has no active revision)$/,
    next: /^purlin patch functionrevision fn-idle-\w+ '\{"spec":\{"desiredState":"Active"\}\}'$/,
    async make() {
      await publish("fn-idle");
      await install("Function", "fn-idle", ref("fn-idle:v1.0.0"), { revisionActivationPolicy: "Manual" });
      await using("fn-idle");
    },
  },
  {
    code: "E15",
    root: app("fn-crash"),
    at: /^FunctionRevision fn-crash-\w+$/,
    says: /^Function fn-crash does not run: .*(this build cannot start|deployment is unavailable)/,
    next: /^purlin logs fn-crash$/,
    async make() {
      await publish("fn-crash", { isBroken: true });
      await install("Function", "fn-crash", ref("fn-crash:v1.0.0"));
      await using("fn-crash");
    },
  },
  {
    code: "E17",
    root: packageOf("Function", "fn-absent"),
    at: /^Function fn-absent$/,
    says: /explain\/fn-absent:v9 cannot be pulled: .*404/,
    next: /^correct spec\.package; purlin xpkg inspect \S+\/explain\/fn-absent:v9 shows whether a tag exists$/,
    make: () => install("Function", "fn-absent", ref("fn-absent:v9")),
  },
  {
    code: "E17",
    root: packageOf("Provider", "unreachable"),
    at: /^Provider unreachable$/,
    says: /cannot be pulled: .*(ECONNREFUSED|refused)/,
    next: /registry can be reached/,
    make: async () => install("Provider", "unreachable", `127.0.0.1:${await freePort()}/explain/provider:v1`),
  },
  {
    code: "E18",
    root: packageOf("Provider", "not-a-provider"),
    at: /^ProviderRevision not-a-provider-\w+$/,
    says: /explain\/fn-fine:v1\.0\.0 is a Function, and is installed as a Provider$/,
    next: /^purlin xpkg install function \S+\/explain\/fn-fine:v1\.0\.0$/,
    async make() {
      await publish("fn-fine");
      await install("Function", "fn-fine", ref("fn-fine:v1.0.0"));
      await install("Provider", "not-a-provider", ref("fn-fine:v1.0.0"));
    },
  },
  {
    code: "E19",
    root: packageOf("Function", "fn-newer"),
    at: /^FunctionRevision fn-newer-\w+$/,
    says: /^FunctionRevision fn-newer-\w+ requires Crossplane >=v99\.0\.0; this is v\d/,
    next: /ignoreCrossplaneConstraints: true$/,
    async make() {
      await publish("fn-newer", { packageSpec: '{crossplane: {version: ">=v99.0.0"}}' });
      await install("Function", "fn-newer", ref("fn-newer:v1.0.0"));
    },
  },
  {
    code: "E20",
    root: packageOf("Configuration", "needy"),
    at: /^ConfigurationRevision needy-\w+$/,
    says: /^The dependencies of ConfigurationRevision needy-\w+ cannot be resolved: .*explain\/fn-dependency.*>=v5\.0\.0/,
    next: /^change one of the constraints/,
    async make() {
      await publish("fn-dependency");
      const dependsOn = { [ref("fn-dependency")]: ">=v5.0.0" };
      await plane.registry.publishConfiguration({ name: "explain/needy:v1.0.0", dependsOn });
      await install("Configuration", "needy", ref("needy:v1.0.0"));
    },
  },
  {
    code: "E21",
    root: packageOf("Configuration", "second"),
    at: /^ConfigurationRevision second-\w+$/,
    says: /shareds\.example\.org belongs to ConfigurationRevision first-\w+, so ConfigurationRevision second-\w+ cannot install it$/,
    next: /^remove ConfigurationRevision first-\w+ or this package$/,
    async make() {
      const objects = [definitionOf("Shared")];
      await plane.registry.publishConfiguration({ name: "explain/first:v1.0.0", objects });
      await plane.registry.publishConfiguration({ name: "explain/second:v1.0.0", objects });
      await install("Configuration", "first", ref("first:v1.0.0"));
      await plane.until("it has an owner", definitionOf("Shared"), keyOf(definitionOf("Shared")), ({ metadata }) => {
        return (metadata.ownerReferences ?? []).length > 0;
      });
      await install("Configuration", "second", ref("second:v1.0.0"));
    },
  },
  {
    code: "E22",
    root: packageOf("Function", "fn-unsigned"),
    at: /^Function(Revision)? fn-unsigned/,
    says: /^The signature of \S+\/explain\/signed\/fn:v1\.0\.0\S* is not verified: ImageConfig "signed" /,
    next: /ImageConfig that requires the signature$/,
    async make() {
      await publish("signed/fn");
      const secretRef = { name: "cosign", key: "cosign.pub" };
      const authority = { name: "signers", key: { secretRef, hashAlgorithm: "sha256" } };
      await plane.apply({
        ...{ apiVersion: "pkg.crossplane.io/v1beta1", kind: "ImageConfig", metadata: { name: "signed" } },
        spec: {
          matchImages: [{ type: "Prefix", prefix: ref("signed/") }],
          verification: { provider: "Cosign", cosign: { authorities: [authority] } },
        },
      });
      await install("Function", "fn-unsigned", ref("signed/fn:v1.0.0"));
    },
  },
];

async function explain(object: KubeObject): Promise<Explanation> {
  return explainObject(await plane.get(object, keyOf(object)), { client: plane.users });
}

describe("broken packages", () => {
  for (const { code, says, next, root, at } of scenes) {
    test(`${code}: ${root.kind} ${root.metadata.name}`, async () => {
      let last: Explanation | undefined;
      const explanation = await eventually(
        `the cause of ${root.metadata.name}`,
        async () => {
          last = await explain(root);
          const [cause] = last.causes;
          return cause?.code === code && says.test(cause.sentence) && last;
        },
        () => (last === undefined ? "" : explanationText(last)),
      );
      const text = explanationText(explanation);
      const [cause] = explanation.causes;
      const { kind = "", name = "", namespace: place } = cause?.object ?? {};
      assert.match(`${kind} ${place === undefined ? "" : `${place}/`}${name}`, at, text);
      assert.match(cause?.next[0] ?? "", next, text);
      assert.equal(explanation.causes.length, 1, text);
      assert.ok((cause?.evidence.length ?? 0) > 0, text);
      assert.match(cause?.effects[0] ?? "", new RegExp(`^${root.kind} .*${root.metadata.name}$`), text);
    });
  }

  test("a package that is fine beside them has no cause", async () => {
    const fine = packageOf("Function", "fn-fine");
    const explanation = await eventually("fn-fine is healthy", async () => {
      const found = await explain(fine);
      return found.verdict === "healthy" && found;
    });
    assert.deepEqual(explanation.causes, []);
  });
});
