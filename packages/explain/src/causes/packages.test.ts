// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type ConditionRow, inspectionOf, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { isHealthyPackage, isPackageRevision, packageReport, revisionReport } from "./packages.ts";

const image = "registry.example.org/fn:v2";
const fn = (rows: readonly ConditionRow[], status: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  withConditions(made("pkg.crossplane.io/v1/Function", "fn", { metadata, spec: { package: image } }), rows, status);
const revision = (name: string, rows: readonly ConditionRow[], desiredState = "Active"): KubeObject =>
  withConditions(
    made("pkg.crossplane.io/v1/FunctionRevision", name, {
      metadata: { labels: { "pkg.crossplane.io/package": "fn" } },
      spec: { desiredState, image },
    }),
    rows,
  );
const report = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  packageReport(object, await inspectionOf(others));
const ofRevision = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  revisionReport(object, await inspectionOf(others));
function only({ findings = [] }: NodeReport): Finding {
  assert.equal(findings.length, 1);
  return findings[0] ?? assert.fail();
}
const unhealthy = (message: string): KubeObject =>
  revision("fn-1", [["RevisionHealthy", "False", "UnhealthyPackageRevision", message]]);
const current = { currentRevision: "fn-1" };

test("revisions of packages are those of three kinds in one group", () => {
  for (const kind of ["ConfigurationRevision", "FunctionRevision", "ProviderRevision"]) {
    assert.equal(isPackageRevision({ apiVersion: "pkg.crossplane.io/v1", kind }), true);
    assert.equal(isPackageRevision({ apiVersion: "example.org/v1", kind }), false);
  }
  assert.equal(isPackageRevision({ apiVersion: "pkg.crossplane.io/v1", kind: "Function" }), false);
  assert.equal(isPackageRevision({ apiVersion: "pkg.crossplane.io/v1beta1", kind: "Lock" }), false);
});

describe("what a revision reports about its content", () => {
  const publish = ["publish a corrected package"];
  const cases: Readonly<
    Record<string, readonly [message: string, code: string, sentence: string, next: readonly string[]]>
  > = {
    "E22: a signature": [
      "cannot get package: signature verification failed: no matching signatures",
      "E22",
      `The signature of ${image} is not verified: no matching signatures`,
      ["sign the image, or change the ImageConfig that requires the signature"],
    ],
    "E20: dependencies that cannot be resolved": [
      "cannot resolve package dependencies: cannot find a version",
      "E20",
      "The dependencies of FunctionRevision fn-1 cannot be resolved: cannot find a version",
      ["change one of the constraints, or install the missing package"],
    ],
    "E20: incompatible dependencies": [
      "incompatible dependencies: x (v1, wanted >=v2)",
      "E20",
      "The dependencies of FunctionRevision fn-1 cannot be resolved: incompatible dependencies: x (v1, wanted >=v2)",
      ["change one of the constraints, or install the missing package"],
    ],
    "E19: a version of Crossplane": [
      "incompatible Crossplane version: package is not compatible with Crossplane version (v2.4.0); required: >=v2.5.0",
      "E19",
      "FunctionRevision fn-1 requires Crossplane >=v2.5.0; this is v2.4.0",
      ["install another version of the package, or set spec.ignoreCrossplaneConstraints: true"],
    ],
    "E19: a constraint that cannot be parsed": [
      "incompatible Crossplane version: improper constraint: x",
      "E19",
      "FunctionRevision fn-1 is incompatible: improper constraint: x",
      ["install another version of the package, or set spec.ignoreCrossplaneConstraints: true"],
    ],
    "E21: an object of another package": [
      "cannot establish control of object: buckets.s3.example.org is already controlled by ProviderRevision p-1 (UID 1)",
      "E21",
      "buckets.s3.example.org belongs to ProviderRevision p-1, so FunctionRevision fn-1 cannot install it",
      ["remove ProviderRevision p-1 or this package"],
    ],
    "E18: invalid content": [
      "validating package contents failed: no CRD",
      "E18",
      "The package of FunctionRevision fn-1 is invalid: no CRD",
      publish,
    ],
    "E18: content that cannot be parsed": [
      "cannot parse package",
      "E18",
      "The package of FunctionRevision fn-1 is invalid: cannot parse package",
      publish,
    ],
    "E18: a package of another kind": [
      "the package is a Provider, not a Function; install it as a Provider",
      "E18",
      `${image} is a Provider, and is installed as a Function`,
      [`purlin xpkg install provider ${image}`],
    ],
  };
  for (const [title, [message, code, sentence, next]] of Object.entries(cases)) {
    test(title, async () => {
      const found = only(await ofRevision(unhealthy(message)));
      assert.deepEqual([found.code, found.sentence, found.next], [code, sentence, next]);
    });
  }

  test("E20: the Lock reports why dependencies cannot be resolved", async () => {
    const lock = withConditions(made("pkg.crossplane.io/v1beta1/Lock", "lock"), [
      ["Resolved", "False", "ResolutionFailed", "x wants >=v2, y wants <v2"],
    ]);
    const { sentence, evidence } = only(await ofRevision(unhealthy("missing dependencies: x"), lock));
    assert.match(sentence, /cannot be resolved: x wants >=v2, y wants <v2$/);
    assert.deepEqual(
      evidence.map(({ object }) => object),
      ["FunctionRevision fn-1", "Lock lock"],
    );
  });

  test("a message that no rule recognizes is unknown", async () => {
    const { unknown, findings } = await ofRevision(unhealthy("odd"));
    assert.deepEqual([findings, unknown?.length], [undefined, 1]);
  });
});

describe("E17: a package that cannot be pulled", () => {
  const advice: Readonly<Record<string, string>> = {
    "GET https://registry.example.org/v2/: 401 Unauthorized":
      "check the pull secret in spec.packagePullSecrets, or the ImageConfig",
    "pull access denied": "check the pull secret in spec.packagePullSecrets, or the ImageConfig",
    "MANIFEST_UNKNOWN: manifest unknown": `correct spec.package; purlin xpkg inspect ${image} shows whether a tag exists`,
    "GET https://registry.example.org/v2/fn: 404": `correct spec.package; purlin xpkg inspect ${image} shows whether a tag exists`,
    "x509: certificate signed by unknown authority": "add the CA of the registry to the control plane",
    "dial tcp: i/o timeout": "check that the registry can be reached from the control plane",
    "port 14010 is closed": "check that the registry can be reached from the control plane",
  };
  for (const [problem, next] of Object.entries(advice)) {
    test(`${problem}: ${next}`, async () => {
      const object = fn([["Installed", "False", "UnpackingPackage", `cannot unpack package: ${problem}`]]);
      const found = only(await report(object));
      assert.deepEqual([found.code, found.path, found.next], ["E17", "spec.package", [next]]);
      assert.equal(found.sentence, `${image} cannot be pulled: ${problem}`);
    });
  }
});

describe("packages", () => {
  test("a healthy one and one that another program serves have nothing to report", async () => {
    const healthy: readonly ConditionRow[] = [
      ["Installed", "True"],
      ["Healthy", "True"],
    ];
    assert.deepEqual(await report(fn(healthy, current), revision("fn-1", [])), {});
    assert.deepEqual(await report(fn([])), {});
  });

  test("a paused one and one that waits for approval", async () => {
    assert.equal(only(await report(fn([], {}, { annotations: { "crossplane.io/paused": "true" } }))).code, "E08");
    assert.equal(only(await report(fn([["Held", "True", "Rollout"]]))).code, "E67");
  });

  test("E12: an inactive revision is activated by its name", async () => {
    const rows: readonly ConditionRow[] = [["Installed", "False", "InactivePackageRevision", "inactive"]];
    const found = only(await report(fn(rows, current), revision("fn-1", [], "Inactive")));
    assert.equal(found.code, "E12");
    assert.equal(found.sentence, "Function fn has no active revision");
    assert.deepEqual(found.next, [`purlin patch functionrevision fn-1 '{"spec":{"desiredState":"Active"}}'`]);
    const nameless = only(await report(fn(rows), revision("fn-9", [], "Inactive")));
    assert.match(nameless.next[0] ?? "", /^purlin patch functionrevision REVISION /);
  });

  test("an unhealthy one leads to its current revision", async () => {
    const bad = fn(
      [
        ["Installed", "True"],
        ["Healthy", "False", "UnhealthyPackageRevision", "Package revision is unhealthy"],
      ],
      current,
    );
    const { edges, unknown, findings } = await report(bad, revision("fn-1", []));
    assert.deepEqual(
      edges?.map(({ to }) => to.name),
      ["fn-1"],
    );
    assert.deepEqual([findings, unknown?.length], [undefined, 1]);
  });

  test("what it reports itself waits for its revision", async () => {
    const bad = fn([["Healthy", "False", "Unhealthy", "cannot get package: 404"]], current);
    const found = only(await report(bad, revision("fn-1", [])));
    assert.deepEqual([found.code, found.waitsFor?.map(({ to }) => to.name)], ["E17", ["fn-1"]]);
  });

  test("without a current revision the active one counts, then the first", async () => {
    const bad = fn([["Healthy", "False", "Unhealthy", "odd"]]);
    const edge = async (...others: readonly KubeObject[]): Promise<string | undefined> =>
      (await report(bad, ...others)).edges?.[0]?.to.name;
    assert.equal(await edge(revision("fn-1", [], "Inactive"), revision("fn-2", [])), "fn-2");
    assert.equal(await edge(revision("fn-1", [], "Inactive"), revision("fn-2", [], "Inactive")), "fn-1");
  });

  test("E15: a source that does not build has no revision", async () => {
    const found = only(await report(fn([["Healthy", "False", "SourceFailed", "main.ts:1: syntax error"]])));
    assert.equal(found.code, "E15");
    assert.equal(found.sentence, "Function fn does not run: main.ts:1: syntax error");
    assert.deepEqual(found.next, ["purlin logs fn"]);
    assert.equal((await report(fn([["Healthy", "False", "Other", "odd"]]))).unknown?.length, 1);
  });

  test("only packages with conditions can be unhealthy", () => {
    assert.equal(isHealthyPackage(fn([])), true);
    assert.equal(
      isHealthyPackage(
        fn([
          ["Installed", "True"],
          ["Healthy", "True"],
        ]),
      ),
      true,
    );
    assert.equal(isHealthyPackage(fn([["Installed", "True"]])), false);
    assert.equal(
      isHealthyPackage(
        fn([
          ["Installed", "True"],
          ["Healthy", "Unknown"],
        ]),
      ),
      false,
    );
  });
});

describe("the runtime of a revision", () => {
  const stopped = (message: string, desiredState = "Active"): KubeObject =>
    revision(
      "fn-1",
      [
        ["RevisionHealthy", "True"],
        ["RuntimeHealthy", "False", "UnhealthyPackageRevision", message],
      ],
      desiredState,
    );

  test("E15: its program has ended", async () => {
    const found = only(await ofRevision(stopped("exited with code 1")));
    assert.equal(found.sentence, "Function fn does not run: exited with code 1");
    assert.deepEqual([found.code, found.since, found.next], ["E15", secondsAgo(60), ["purlin logs fn"]]);
  });

  test("one that starts is waiting", async () => {
    for (const message of ["the function is starting", 'Deployment has no condition of type "Available" yet']) {
      assert.deepEqual(await ofRevision(stopped(message)), {
        waiting: [{ since: secondsAgo(60), text: `its runtime is starting: ${message}` }],
      });
    }
  });

  test("the Pod of the revision says more", async () => {
    const pod = made("v1/Pod", "crossplane-system/fn-pod", {
      metadata: { labels: { "pkg.crossplane.io/revision": "fn-1" } },
      status: { containerStatuses: [{ name: "fn", image, state: { waiting: { reason: "ImagePullBackOff" } } }] },
    });
    const found = only(await ofRevision(stopped("unavailable"), pod));
    assert.deepEqual([found.code, found.object.name], ["E16", "fn-pod"]);
  });

  test("an inactive revision does not have to run", async () => {
    assert.deepEqual(await ofRevision(stopped("exited", "Inactive")), {});
    assert.deepEqual(
      await ofRevision(
        revision("fn-1", [
          ["RevisionHealthy", "True"],
          ["RuntimeHealthy", "True"],
        ]),
      ),
      {},
    );
  });

  test("the old condition Healthy counts for the content if there is none for the runtime", async () => {
    const old: ConditionRow = ["Healthy", "False", "Unhealthy", "validating package contents failed: no CRD"];
    assert.equal(only(await ofRevision(revision("fn-1", [old]))).code, "E18");
    assert.deepEqual(await ofRevision(revision("fn-1", [old, ["RuntimeHealthy", "True"]])), {});
  });

  test("a paused revision", async () => {
    const paused = stopped("exited");
    const annotations = { "crossplane.io/paused": "true" };
    assert.equal(only(await ofRevision({ ...paused, metadata: { ...paused.metadata, annotations } })).code, "E08");
  });
});
